//go:build linux && (amd64 || arm64)

package inspect_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/inspect"
)

// pictured runs main as a loop, and passes check a snapshot of it that is taken when
// ready was called and all tasks wait.
func pictured(t *testing.T, main func(ctx context.Context, ready func()) error, check func(l *inspect.Loop)) {
	t.Helper()
	onLoop(t, t.Name(), func(ctx context.Context) error {
		var up rondo.Event
		worker := rondo.Go(ctx, func(ctx context.Context) error { return main(ctx, up.Set) })
		worker.SetName("first")
		if err := up.Wait(ctx); err != nil {
			return err
		}
		check(look(ctx, t, t.Name()))
		worker.Cancel(nil)
		return nil
	})
}

//go:noinline
func leaf(ctx context.Context) (int, error) { return 0, rondo.Sleep(ctx, time.Hour) }

// TestC207StackOfALeafAndWhoWaits: a snapshot has the stack of a task in a Gather
// in a Timeout, and the scopes from it to the task that waits for them.
func TestC207StackOfALeafAndWhoWaits(t *testing.T) {
	pictured(t, func(ctx context.Context, ready func()) error {
		return rondo.Timeout(ctx, time.Hour, func(ctx context.Context) error {
			_, err := rondo.Gather(ctx, leaf, func(ctx context.Context) (int, error) { ready(); return leaf(ctx) })
			return err
		})
	}, func(l *inspect.Loop) {
		first := task(t, l, "first")
		kinds := []string{}
		for _, s := range first.Scopes {
			kinds = append(kinds, s.Kind)
		}
		if first.What != "group" || !slices.Equal(kinds, []string{"timeout", "group"}) || first.Scopes[1].Tasks != 2 {
			t.Errorf("first waits for %q in %v; want a group of 2 in a timeout", first.Waiting, first.Scopes)
		}
		leaves := 0
		for _, k := range l.Tasks {
			if own := inspect.Own(k.Stack); len(own) > 0 && strings.HasSuffix(own[0].Func, ".leaf") {
				leaves++
				if k.Owner == nil || *k.Owner != (inspect.ScopeID{Host: first.ID, Depth: 2}) {
					t.Errorf("the leaf #%d is owned by %v; want the second scope of #%d", k.ID, k.Owner, first.ID)
				}
			}
		}
		if leaves != 2 {
			t.Errorf("%d leaves have their stack; want 2", leaves)
		}
	})
}

// TestC208Cycle: a snapshot names the tasks that wait for each other in a ring.
func TestC208Cycle(t *testing.T) {
	pictured(t, func(ctx context.Context, ready func()) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			var b *rondo.Task
			a := g.Go(func(ctx context.Context) error { return b.Wait(ctx) })
			b = g.Go(func(ctx context.Context) error { ready(); return a.Wait(ctx) })
			a.SetName("a")
			b.SetName("b")
			return nil
		})
	}, func(l *inspect.Loop) {
		a, b := task(t, l, "a"), task(t, l, "b")
		if len(l.Cycles) != 1 || !slices.Contains(l.Cycles[0], a.ID) || !slices.Contains(l.Cycles[0], b.ID) || len(l.Cycles[0]) != 2 {
			t.Errorf("cycles: %v; want one, of #%d and #%d", l.Cycles, a.ID, b.ID)
		}
	})
}

// TestC210SameFunctionTwice: tasks that run the same function are separate tasks
// in a snapshot.
func TestC210SameFunctionTwice(t *testing.T) {
	pictured(t, func(ctx context.Context, ready func()) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 3 {
				g.Go(func(ctx context.Context) error { ready(); _, err := leaf(ctx); return err })
			}
			return nil
		})
	}, func(l *inspect.Loop) {
		ids := make(map[uint64]bool)
		for _, k := range l.Tasks {
			if strings.Contains(k.Func, "TestC210SameFunctionTwice.func1.1.1") {
				ids[k.ID] = true
			}
		}
		if len(ids) != 3 {
			t.Errorf("%d tasks of the function; want 3, each with a number of its own", len(ids))
		}
	})
}
