//go:build linux && (amd64 || arm64)

package inspect_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/inspect"
)

// TestRingThroughGroup: a task that holds a lock wants to leave a group, of which
// one task wants the lock. While another task of the group goes on there is no ring: it may
// end the group, as it does here.
func TestRingThroughGroup(t *testing.T) {
	onLoop(t, "ring", func(ctx context.Context) error {
		var m rondo.Mutex
		if err := m.Lock(ctx); err != nil {
			return err
		}
		defer m.Unlock()
		outside := ctx
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(m.Lock)
			inside := g.Go(func(ctx context.Context) error {
				if l := look(ctx, t, "ring"); len(l.Cycles) != 0 {
					t.Errorf("cycles %v; want none, since this task may end the group", l.Cycles)
				}
				return nil
			})
			rondo.Go(outside, func(ctx context.Context) error {
				if err := inside.Wait(ctx); err != nil {
					return err
				}
				if l := look(ctx, t, "ring"); len(l.Cycles) != 1 || !slices.Equal(l.Cycles[0], []uint64{1, 2}) {
					t.Errorf("cycles %v; want the first task and the second", l.Cycles)
				}
				g.Cancel(nil)
				return nil
			})
			return nil
		})
	})
}

// TestWaitsForPull: a task that waits for the next value of a sequence waits for
// the task that makes it, and for no descriptor.
func TestWaitsForPull(t *testing.T) {
	pictured(t, func(ctx context.Context, ready func()) error {
		next, stop := rondo.Pull(ctx, func(func(int) bool) {
			rondo.Current(ctx).SetName("producer")
			ready()
			_ = rondo.Sleep(ctx, time.Hour)
		})
		defer stop()
		next()
		return nil
	}, func(l *inspect.Loop) {
		k := l.Tasks[slices.IndexFunc(l.Tasks, func(k *inspect.Task) bool { return k.What == "next" })]
		i := slices.IndexFunc(l.Tasks, func(o *inspect.Task) bool { return o.ID == k.On })
		if i < 0 || k.FD != 0 || l.Tasks[i].What != "sleep" || k.Waiting != fmt.Sprintf("next #%d %s", k.On, l.Tasks[i].Name) {
			t.Errorf("#%d waits for %q on #%d, descriptor %d; want the task that sleeps", k.ID, k.Waiting, k.On, k.FD)
		}
	})
}

// TestInlinedIterator: a function of Rondo's that was compiled into the program is
// not taken for the program's, though it is called as if it were.
func TestInlinedIterator(t *testing.T) {
	pictured(t, func(ctx context.Context, ready func()) error {
		q := rondo.NewQueue[int](0)
		ready()
		collect(q.All(ctx))
		return nil
	}, func(l *inspect.Loop) {
		k := task(t, l, "first")
		if own := inspect.Own(k.Stack); k.What != "get" || len(own) == 0 || !strings.HasSuffix(own[0].Func, ".collect") {
			t.Errorf("the program's innermost call is %+v; want collect", own)
		}
	})
}

//go:noinline
func collect(seq iter.Seq[int]) {
	for range seq {
		runtime.Gosched()
	}
}

// TestRondosFiles: which files are Rondo's, and not the program's.
func TestRondosFiles(t *testing.T) {
	_, this, _, _ := runtime.Caller(0)
	if got, want := openPID(t, os.Getpid()).Home(), strings.TrimSuffix(this, "inspect/ring_test.go"); got != want {
		t.Errorf("Rondo's source is in %q, want %q", got, want)
	}
	const home = "/go/pkg/rondo@v1.2.3/"
	for file, want := range map[string]bool{
		home + "queue.go": true, home + "coro/pull.go": true, home + "signals/notify.go": true, home + "shard/chan.go": true,
		home + "nats/conn.go": true, home + "nats/examples/broker/main.go": false, home + "queue_test.go": false, home + "examples/echo/main.go": false, home + "inspect/testdata/target/main.go": false, "/home/me/queue.go": false,
	} {
		if got := inspect.Holds(home, file); got != want || inspect.Holds("", file) {
			t.Errorf("%s: %v; want %v, and nothing without a folder", file, got, want)
		}
	}
	// Each package that a program can import is Rondo's; those in examples are programs.
	listed, err := filepath.Glob("../api/*.txt")
	if err != nil || len(listed) < 10 {
		t.Fatalf("%d packages, %v", len(listed), err)
	}
	for _, name := range listed {
		pkg := "/" + strings.TrimSuffix(filepath.Base(name), ".txt")
		if f := (inspect.Frame{Func: "github.com/rondo-go/rondo" + strings.TrimPrefix(pkg, "/rondo") + ".(*T).F"}); f.Own() {
			t.Errorf("%s is the program's", f.Func)
		}
	}
	for _, program := range []string{"examples/echo.main", "nats/examples/broker.main", "shard_test.TestA"} {
		if f := (inspect.Frame{Func: "github.com/rondo-go/rondo/" + program}); !f.Own() {
			t.Errorf("%s is Rondo's", f.Func)
		}
	}
	if f := (inspect.Frame{Func: "main.main.All.func1"}); !f.Own() {
		t.Error("a function of main is not the program's")
	} else if f.Rondo = true; f.Own() {
		t.Error("code of Rondo's is the program's")
	}
}
