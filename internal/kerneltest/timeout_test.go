package kerneltest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

func TestTimeout(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		start := rondo.Now(ctx)
		err := rondo.Timeout(ctx, time.Minute, forever)
		if err != context.DeadlineExceeded || rondo.Now(ctx).Sub(start) != time.Minute {
			t.Errorf("Timeout returned %v after %v", err, rondo.Now(ctx).Sub(start))
		}
		if err := rondo.Timeout(ctx, time.Minute, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Second) }); err != nil {
			t.Errorf("with a body in time Timeout returned %v", err)
		}
		if err := rondo.Check(ctx); err != nil {
			t.Errorf("the scope around an expired Timeout is cancelled: %v", err)
		}
		// A body that returns nil in spite of the deadline keeps its result.
		if err := rondo.Timeout(ctx, -1, func(ctx context.Context) error { return nil }); err != nil {
			t.Errorf("with a body that does not wait Timeout returned %v", err)
		}
		err = rondo.Timeout(ctx, -1, func(ctx context.Context) error { return rondo.Yield(ctx) })
		if err != context.DeadlineExceeded {
			t.Errorf("with a deadline that has passed Timeout returned %v", err)
		}
		// An error of the body is returned beside the deadline's.
		err = rondo.Timeout(ctx, 1, func(ctx context.Context) error { _ = forever(ctx); return errBroken })
		if !errors.Is(err, errBroken) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a body that fails after the deadline Timeout returned %v", err)
		}
		err = rondo.Deadline(ctx, rondo.Now(ctx).Add(time.Second), forever)
		if err != context.DeadlineExceeded {
			t.Errorf("Deadline returned %v", err)
		}
	})
}

func TestNestedTimeouts(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		for _, c := range []struct{ outer, inner time.Duration }{{1, 2}, {2, 1}, {1, 1}} {
			var inner error
			outer := rondo.Timeout(ctx, c.outer*time.Second, func(ctx context.Context) error {
				inner = rondo.Timeout(ctx, c.inner*time.Second, forever)
				return rondo.Check(ctx)
			})
			if inner != context.DeadlineExceeded {
				t.Errorf("outer %v, inner %v: the inner Timeout returned %v", c.outer, c.inner, inner)
			}
			want := error(nil)
			if c.outer < c.inner {
				want = context.DeadlineExceeded
			}
			if c.outer != c.inner && outer != want {
				t.Errorf("outer %v, inner %v: the outer Timeout returned %v, want %v", c.outer, c.inner, outer, want)
			}
		}
	})
}

func TestSetDeadline(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		start := rondo.Now(ctx)
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.SetDeadline(start.Add(time.Second))
			g.SetDeadline(start.Add(time.Hour))
			if at, ok := g.Deadline(); !ok || !at.Equal(start.Add(time.Hour)) {
				t.Errorf("Deadline returned %v, %v", at, ok)
			}
			if err := rondo.Sleep(g, time.Minute); err != nil {
				t.Errorf("Sleep was cut off by the deadline that was moved: %v", err)
			}
			g.SetDeadline(time.Time{})
			if _, ok := g.Deadline(); ok {
				t.Error("the scope has a deadline after it was removed")
			}
			if err := rondo.Sleep(g, 2*time.Hour); err != nil {
				t.Errorf("Sleep was cut off by the deadline that was removed: %v", err)
			}
			g.SetDeadline(start)
			return rondo.Check(g)
		})
		if err != context.DeadlineExceeded {
			t.Errorf("Group returned %v", err)
		}
	})
}

// TestOuterDeadlineWinsTheTie: of two deadlines at the same instant the outer one
// counts, whichever timer the loop comes to first.
func TestOuterDeadlineWinsTheTie(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		at := rondo.Now(ctx).Add(time.Second)
		var inner error
		outer := rondo.Deadline(ctx, at, func(ctx context.Context) error {
			inner = rondo.Deadline(ctx, at, forever)
			return rondo.Check(ctx)
		})
		if inner != context.DeadlineExceeded || outer != context.DeadlineExceeded {
			t.Errorf("the inner Deadline returned %v, the outer one %v", inner, outer)
		}
		// With a Shield between them the inner deadline cancels the inner scope only.
		at = at.Add(time.Second)
		outer = rondo.Deadline(ctx, at, func(ctx context.Context) error {
			err := rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Deadline(ctx, at, forever) })
			if err != context.DeadlineExceeded {
				t.Errorf("in the Shield Deadline returned %v", err)
			}
			return nil
		})
		if outer != nil {
			t.Errorf("around the Shield Deadline returned %v", outer)
		}
	})
}

// TestSetDeadlineTooLate: SetDeadline of a scope that is cancelled or has ended
// sets no timer.
func TestSetDeadlineTooLate(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		var kept *rondo.Scope
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			kept = g
			g.Cancel(errBroken)
			g.SetDeadline(rondo.Now(ctx))
			g.SetDeadline(rondo.Now(ctx).Add(time.Hour))
			return rondo.Check(g)
		})
		if err != errBroken {
			t.Errorf("Group returned %v", err)
		}
		kept.SetDeadline(rondo.Now(ctx).Add(time.Hour))
		if n := rondo.LoopOf(ctx).Stats().Timers; n != 0 {
			t.Errorf("%d timers are left", n)
		}
	})
}

// TestOuterDeadlineThatIsDue: a scope that is opened after its deadline, and
// after the deadline of the scope around it, cancels the outer scope although the
// loop has not come to its timer yet.
func TestOuterDeadlineThatIsDue(t *testing.T) {
	run(t, func(ctx context.Context) error {
		at := rondo.Now(ctx).Add(time.Millisecond)
		_ = rondo.Deadline(ctx, at, func(ctx context.Context) error {
			for !rondo.Now(ctx).After(at) {
				continue // keeps the loop from its timers
			}
			_ = rondo.Deadline(ctx, at, func(context.Context) error { return nil })
			if rondo.Check(ctx) == nil {
				t.Error("the inner scope has ended alone")
			}
			return nil
		})
		return nil
	})
}
