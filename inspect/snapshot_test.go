//go:build linux && (amd64 || arm64)

package inspect_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/inspect"
)

// look takes a snapshot of this program when all tasks of main's loop wait, and returns
// the loop with the given name.
func look(ctx context.Context, t *testing.T, name string) *inspect.Loop {
	t.Helper()
	p, err := rondo.Offload(ctx, func(ctx context.Context) (*inspect.Program, error) {
		for {
			// It may be here before they do, in whatever order they had their turns.
			p, err := inspect.Snapshot()
			if err != nil || find(p, name) < 0 || settled(p.Loops[find(p, name)]) || ctx.Err() != nil {
				return p, err
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	i := find(p, name)
	if i < 0 {
		t.Fatalf("no loop %q among %d", name, len(p.Loops))
	}
	return p.Loops[i]
}

// onLoop runs main on a loop with a name.
func onLoop(t *testing.T, name string, main func(ctx context.Context) error) {
	t.Helper()
	r := rondo.Runner{Name: name}
	if err := r.Run(t.Context(), main); err != nil {
		t.Fatal(err)
	}
}

// find returns the index of the loop with the given name, or -1.
func find(p *inspect.Program, name string) int {
	return slices.IndexFunc(p.Loops, func(l *inspect.Loop) bool { return l.Name == name })
}

// task returns the task with the given name.
func task(t *testing.T, l *inspect.Loop, name string) *inspect.Task {
	t.Helper()
	i := slices.IndexFunc(l.Tasks, func(t *inspect.Task) bool { return t.Name == name })
	if i < 0 {
		t.Fatalf("no task %q among %d", name, len(l.Tasks))
	}
	return l.Tasks[i]
}

// holdFor holds m for some time, and sets has when it has it.
//
//go:noinline
func holdFor(ctx context.Context, d time.Duration, m *rondo.Mutex, has *rondo.Event) error {
	if err := m.Lock(ctx); err != nil {
		return err
	}
	defer m.Unlock()
	has.Set()
	return rondo.Sleep(ctx, d)
}

// TestLag: a loop that sleeps until its first timer is not late, at any time of that; one that a
// task holds is.
func TestLag(t *testing.T) {
	onLoop(t, "lagging", func(ctx context.Context) error {
		return rondo.Timeout(ctx, time.Hour, func(ctx context.Context) error {
			for range 20 {
				if l := look(ctx, t, "lagging"); l.Exact && l.Running == 0 && l.Lag != 0 {
					t.Errorf("a loop that sleeps is said to be %v late", l.Lag)
				}
			}
			p, err := inspect.Snapshot() // by the task that runs
			if err != nil {
				return err
			}
			if l := p.Loops[find(p, "lagging")]; l.Running == 0 || l.Lag <= 0 {
				t.Errorf("task %d has the loop, which is %v late; want a loop that looked some time ago", l.Running, l.Lag)
			}
			return nil
		})
	})
}

// TestSleeps: of tasks that follow each other, each sleeps as long as it said.
func TestSleeps(t *testing.T) {
	onLoop(t, "sleeps", func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			hours := []time.Duration{1000, 3000, 3000, 1000}
			for _, h := range hours {
				g.Go(func(ctx context.Context) error { return rondo.Sleep(ctx, h*time.Hour) })
			}
			for i, k := range look(g, t, "sleeps").Tasks[1:] {
				left, err := time.ParseDuration(strings.TrimPrefix(k.Waiting, "sleep "))
				if long := left > 2000*time.Hour; err != nil || long != (hours[i] == 3000) {
					t.Errorf("task %d of those that sleep for %d hours waits for %q (%v)", i, hours, k.Waiting, err)
				}
			}
			g.Cancel(nil)
			return nil
		})
	})
}

// TestThings: the tasks that wait for one thing are counted together, also those of a Semaphore, of
// which each is in a list of its own, and those at several places in the line of an RWMutex.
func TestThings(t *testing.T) {
	onLoop(t, "things", func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			permits, other, config := rondo.NewSemaphore(0), rondo.NewSemaphore(0), rondo.RWMutex{Name: "config"}
			permits.Name, other.Name = "permits", "other"
			if err := config.RLock(ctx); err != nil {
				return err
			}
			for _, wait := range []func(context.Context) error{
				permits.Acquire, config.Lock, other.Acquire, config.RLock, permits.Acquire, config.Lock, permits.Acquire,
			} {
				g.Go(wait)
			}
			var got []string
			for _, r := range look(g, t, "things").Resources() {
				if r.Name != "" {
					got = append(got, fmt.Sprint(r.Kind, " ", r.Name, " ", r.Waiting))
				}
			}
			slices.Sort(got)
			if want := []string{`lock "config" 2`, `rlock "config" 1`, `semaphore "other" 1`, `semaphore "permits" 3`}; !slices.Equal(got, want) {
				t.Errorf("tasks wait for %q, want %q", got, want)
			}
			g.Cancel(nil)
			return nil
		})
	})
}

// TestSites: each way to start a task is known by its line, and a task that Rondo
// itself has started has none.
func TestSites(t *testing.T) {
	sleep := func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) }
	want := make(map[string]int)
	onLoop(t, "sites", func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			next := func() int { _, _, line, _ := runtime.Caller(1); return line + 1 }
			want["go"] = next()
			rondo.Go(g, sleep).SetName("go")
			want["scope"] = next()
			g.Go(sleep).SetName("scope")
			want["async"] = next()
			rondo.Async(g, func(ctx context.Context) (int, error) { rondo.Current(ctx).SetName("async"); return 0, sleep(ctx) })
			rondo.Go(g, func(ctx context.Context) error {
				_, err := rondo.Gather(ctx, func(ctx context.Context) (int, error) { rondo.Current(ctx).SetName("gathered"); return 0, sleep(ctx) })
				return err
			})
			l := look(g, t, "sites")
			for name, line := range want {
				if s := task(t, l, name).Site; s == nil || s.Line != line || !strings.HasPrefix(s.Func, "github.com/rondo-go/rondo/inspect_test.TestSites.") || !strings.HasSuffix(s.File, "snapshot_test.go") {
					t.Errorf("%s was started by %+v; want line %d", name, s, line)
				}
			}
			if s := task(t, l, "gathered").Site; s != nil {
				t.Errorf("a task of Gather was started by %+v", s)
			}
			g.Cancel(nil)
			return nil
		})
	})
}
