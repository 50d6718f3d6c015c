//go:build linux && (amd64 || arm64)

package inspect_test

import (
	"context"
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

// TestSnapshot: two tasks that want each other's lock, in a group, under a timeout.
func TestSnapshot(t *testing.T) {
	r := rondo.Runner{Name: "pictured"}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		rondo.Current(ctx).SetName("main task")
		a, b := rondo.Mutex{Name: "accounts"}, rondo.Mutex{}
		var held rondo.Event
		return rondo.Timeout(ctx, time.Hour, func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(ctx context.Context) error { return holdFor(ctx, time.Hour, &a, &held) }).SetName("holder")
				if err := held.Wait(ctx); err != nil {
					return err
				}
				g.Go(func(ctx context.Context) error { return holdFor(ctx, 0, &a, &held) }).SetName("wanting")
				g.Go(b.Lock).SetName("free")
				l := look(ctx, t, "pictured")
				check(t, l)
				g.Cancel(nil)
				return nil
			})
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLag: a loop that sleeps until its first timer is not late, at any time of that; one that a
// task holds is.
func TestLag(t *testing.T) {
	r := rondo.Runner{Name: "lagging"}
	err := r.Run(t.Context(), func(ctx context.Context) error {
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
	if err != nil {
		t.Fatal(err)
	}
}

func check(t *testing.T, l *inspect.Loop) {
	main, holder, wanting := task(t, l, "main task"), task(t, l, "holder"), task(t, l, "wanting")
	if !l.Exact || len(l.Tasks) != 3 || l.Held != nil || l.Offloads != 1 {
		t.Errorf("exact %v, %d tasks, held %v, %d offloads; want an exact snapshot of 3 tasks, one of them offloading", l.Exact, len(l.Tasks), l.Held, l.Offloads)
	}
	if main.Waiting != "offload" || len(main.Scopes) != 2 || main.Scopes[0].Kind != "timeout" || main.Scopes[1].Tasks != 2 {
		t.Errorf("main waits for %q in %+v; want an offload in a timeout and a group of 2", main.Waiting, main.Scopes)
	}
	if wanting.On != holder.ID || wanting.What != "lock" || !strings.HasPrefix(wanting.Waiting, `lock "accounts" held by #`) {
		t.Errorf("wanting waits for %q (on %d); want the lock that #%d holds", wanting.Waiting, wanting.On, holder.ID)
	}
	if holder.What != "sleep" || holder.Due < 50*time.Minute || holder.Owner == nil || *holder.Owner != (inspect.ScopeID{Host: main.ID, Depth: 2}) {
		t.Errorf("holder waits for %q, due in %v, owned by %v; want an hour's sleep in main's second scope", holder.Waiting, holder.Due, holder.Owner)
	}
	own := inspect.Own(holder.Stack)
	if len(own) == 0 || !strings.HasSuffix(own[0].Func, "inspect_test.holdFor") || !strings.HasSuffix(own[0].File, "snapshot_test.go") {
		t.Errorf("holder stands at %v; want holdFor first", own)
	}
	var text strings.Builder
	if err := (&inspect.Program{Loops: []*inspect.Loop{l}}).WriteTree(&text, inspect.TreeOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"group, 2 tasks", "wanting  waiting ", ` for lock "accounts" held by`, "holdFor"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the tree has no %q:\n%s", want, text.String())
		}
	}
}

// TestSites: each way to start a task is known by its line, and a task that Rondo
// itself has started has none.
func TestSites(t *testing.T) {
	sleep := func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) }
	want := make(map[string]int)
	r := rondo.Runner{Name: "sites"}
	err := r.Run(t.Context(), func(ctx context.Context) error {
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
			l := look(ctx, t, "sites")
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
	if err != nil {
		t.Fatal(err)
	}
}
