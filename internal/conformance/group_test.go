package conformance

// Expectations of users of asyncio.TaskGroup and trio's nurseries.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestC090GroupWaitsForBoth: Group waits for all its tasks.
func TestC090GroupWaitsForBoth(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		start, cut := rondo.Now(ctx), false
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(sleeper(time.Second, nil, &cut))
			g.Go(sleeper(2*time.Second, nil, &cut))
			return nil
		})
		if err != nil || cut || rondo.Now(ctx).Sub(start) != 2*time.Second {
			t.Errorf("Group returned %v after %v; a task was cancelled: %v", err, rondo.Now(ctx).Sub(start), cut)
		}
	})
}

// TestC091GroupFirstErrorCancelsSiblings: the first error of a task cancels the
// other tasks of the Group and the wait of its body. The scope around the Group
// goes on.
func TestC091GroupFirstErrorCancelsSiblings(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		cut, body := false, error(nil)
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(sleeper(time.Hour, nil, &cut))
			g.Go(func(context.Context) error { return errBroken })
			body = rondo.Sleep(g, time.Hour)
			return body
		})
		if err != errBroken || body != errBroken || !cut {
			t.Errorf("Group returned %v, the wait of its body %v; the other task was cancelled: %v", err, body, cut)
		}
		if err := rondo.Check(ctx); err != nil {
			t.Errorf("the scope around the Group is cancelled: %v", err)
		}
	})
}

// TestC092GroupKeepsAllErrorsInOrder: Group returns all errors, in the order in
// which they came.
func TestC092GroupKeepsAllErrorsInOrder(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range 3 {
				g.Go(func(ctx context.Context) error {
					return rondo.Shield(ctx, func(ctx context.Context) error {
						_ = rondo.Sleep(ctx, time.Duration(3-i)*time.Second)
						return fmt.Errorf("error %d", i)
					})
				})
			}
			_ = rondo.Sleep(g, 1)
			return nil
		})
		if got := fmt.Sprint(err); got != "error 2\nerror 1\nerror 0" {
			t.Errorf("Group returned %q", got)
		}
	})
}

// TestC093BodyErrorCancelsChildren: an error of the body cancels the tasks of the
// Group.
func TestC093BodyErrorCancelsChildren(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		cut := false
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(sleeper(time.Hour, nil, &cut))
			return errBroken
		})
		if err != errBroken || !cut {
			t.Errorf("Group returned %v; its task was cancelled: %v", err, cut)
		}
	})
}

// TestC094OuterCancellationIsNoErrorOfTheGroup: a Group that is cancelled from
// outside returns the cause once, and not once more for each task.
func TestC094OuterCancellationIsNoErrorOfTheGroup(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		cut := false
		task := rondo.Go(ctx, func(ctx context.Context) error {
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(sleeper(time.Hour, nil, &cut))
				g.Go(sleeper(time.Hour, nil, &cut))
				return nil
			})
			if err != errBroken {
				t.Errorf("Group returned %v, want the cause once", err)
			}
			return err
		})
		_ = rondo.Sleep(ctx, 1)
		task.Cancel(errBroken)
		if err := task.Wait(ctx); err != errBroken || !cut {
			t.Errorf("Wait returned %v; a task of the Group was cancelled: %v", err, cut)
		}
	})
}

// TestC097PanicComesBeforeErrors: if the body of a Group panics when a task has
// failed, Run panics, whatever the error was.
func TestC097PanicComesBeforeErrors(t *testing.T) {
	text := panicOf(func() {
		r := rondo.Runner{OnError: func(rondo.TaskInfo, error) {}}
		_ = r.Run(t.Context(), func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(context.Context) error { return errBroken })
				_ = rondo.Yield(g)
				panic("fatal")
			})
		})
	})
	if !strings.Contains(text, "fatal") {
		t.Errorf("Run panicked with %.80q", text)
	}
}

// TestC099GoInAnEndedGroup: Go and Start in a scope that has ended panic.
func TestC099GoInAnEndedGroup(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		var kept *rondo.Scope
		_ = rondo.Group(ctx, func(g *rondo.Scope) error { kept = g; return nil })
		for name, call := range map[string]func(){
			"Scope.Go":    func() { kept.Go(forever) },
			"Go":          func() { rondo.Go(kept, forever) },
			"Scope.Start": func() { _ = kept.Start(ctx, func(context.Context, func()) error { return nil }) },
		} {
			if text := panicOf(call); !strings.HasPrefix(text, "rondo: Go in a scope that has ended: ") {
				t.Errorf("%s: panic %q", name, text)
			}
		}
	})
}

// TestC100GroupNeedsALoop: Group with a ctx that belongs to no loop returns
// ErrNoLoop and does not run its body.
func TestC100GroupNeedsALoop(t *testing.T) {
	err := rondo.Group(context.Background(), func(*rondo.Scope) error { panic("ran") })
	if !errors.Is(err, rondo.ErrNoLoop) {
		t.Errorf("Group returned %v", err)
	}
}

// TestC101Hydra: Group also waits for the tasks that its tasks start in it.
func TestC101Hydra(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		heads := 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			var grow func(depth int) func(ctx context.Context) error
			grow = func(depth int) func(ctx context.Context) error {
				return func(ctx context.Context) error {
					heads++
					if depth > 0 {
						g.Go(grow(depth - 1))
						g.Go(grow(depth - 1))
					}
					return rondo.Yield(ctx)
				}
			}
			g.Go(grow(4))
			return nil
		})
		if err != nil || heads != 31 {
			t.Errorf("Group returned %v; %d of 31 tasks ran", err, heads)
		}
	})
}

// TestC103EarlyReturnOfBodyCancelsNothing: a body that returns nil while tasks
// run cancels nothing.
func TestC103EarlyReturnOfBodyCancelsNothing(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		cut := false
		err := rondo.Group(ctx, func(g *rondo.Scope) error { g.Go(sleeper(time.Second, nil, &cut)); return nil })
		if err != nil || cut {
			t.Errorf("Group returned %v; its task was cancelled: %v", err, cut)
		}
	})
}

// TestC104ScopeCancelIsNoError: Scope.Cancel(nil) cancels the tasks, and Group
// returns nil. A second Cancel does nothing.
func TestC104ScopeCancelIsNoError(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		cut := false
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(sleeper(time.Hour, nil, &cut))
			g.Cancel(nil)
			g.Cancel(errBroken)
			return forever(g)
		})
		if err != nil || !cut {
			t.Errorf("Group returned %v; its task was cancelled: %v", err, cut)
		}
	})
}

// TestC106InnerGroupFails: the errors of an inner Group are errors of the outer
// one, and errors.Is finds each.
//
// asyncio nests exception groups; here errors are joined.
func TestC106InnerGroupFails(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		other := errors.New("other")
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			return rondo.Group(g, func(g *rondo.Scope) error {
				g.Go(func(context.Context) error { return errBroken })
				_ = forever(g)
				return other
			})
		})
		if !errors.Is(err, errBroken) || !errors.Is(err, other) || fmt.Sprint(err) != "broken\nother" {
			t.Errorf("Group returned %q", err)
		}
	})
}

// TestC107OneCancelledChild: a task of a Group that is cancelled alone does not
// cancel the others and is no error.
func TestC107OneCancelledChild(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		one, other := false, false
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			task := g.Go(sleeper(time.Hour, nil, &one))
			g.Go(sleeper(time.Second, nil, &other))
			_ = rondo.Yield(g)
			task.Cancel(errors.New("not needed"))
			return nil
		})
		if err != nil || !one || other {
			t.Errorf("Group returned %v; cancelled were the first: %v, the second: %v", err, one, other)
		}
	})
}
