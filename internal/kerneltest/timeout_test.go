package kerneltest_test

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

func TestTimeout(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		start := rondo.Now(ctx)
		err := rondo.Timeout(ctx, time.Minute, forever)
		if !errors.Is(err, context.DeadlineExceeded) || rondo.Now(ctx).Sub(start) != time.Minute {
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
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a deadline that has passed Timeout returned %v", err)
		}
		// An error of the body is returned beside the deadline's.
		err = rondo.Timeout(ctx, 1, func(ctx context.Context) error { _ = forever(ctx); return errBroken })
		if !errors.Is(err, errBroken) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a body that fails after the deadline Timeout returned %v", err)
		}
		err = rondo.Deadline(ctx, rondo.Now(ctx).Add(time.Second), forever)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Deadline returned %v", err)
		}
	})
}

func TestNestedTimeouts(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		for _, c := range []struct{ outer, inner time.Duration }{{1, 2}, {2, 1}, {1, 1}} {
			var inner error
			outer := rondo.Timeout(ctx, c.outer*time.Second, func(ctx context.Context) error {
				inner = rondo.Timeout(ctx, c.inner*time.Second, forever)
				return rondo.Check(ctx)
			})
			if !errors.Is(inner, context.DeadlineExceeded) {
				t.Errorf("outer %v, inner %v: the inner Timeout returned %v", c.outer, c.inner, inner)
			}
			if expired := errors.Is(outer, context.DeadlineExceeded); c.outer != c.inner && expired != (c.outer < c.inner) {
				t.Errorf("outer %v, inner %v: the outer Timeout returned %v", c.outer, c.inner, outer)
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
		if !errors.Is(err, context.DeadlineExceeded) {
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
		if !errors.Is(inner, context.DeadlineExceeded) || !errors.Is(outer, context.DeadlineExceeded) {
			t.Errorf("the inner Deadline returned %v, the outer one %v", inner, outer)
		}
		// With a Shield between them the inner deadline cancels the inner scope only.
		at = at.Add(time.Second)
		outer = rondo.Deadline(ctx, at, func(ctx context.Context) error {
			err := rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Deadline(ctx, at, forever) })
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("in the Shield Deadline returned %v", err)
			}
			return nil
		})
		if outer != nil {
			t.Errorf("around the Shield Deadline returned %v", outer)
		}
	})
}

// TestDeadlineThatEndedNothing: a deadline that ended no wait is not among the
// errors, although it has passed.
func TestDeadlineThatEndedNothing(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Timeout(ctx, time.Second, func(ctx context.Context) error {
			return rondo.Shield(ctx, func(ctx context.Context) error {
				_ = rondo.Sleep(ctx, 2*time.Second)
				return errBroken
			})
		})
		if err != errBroken {
			t.Errorf("Timeout around a Shield returned %v", err)
		}
		err = rondo.Timeout(ctx, -1, func(ctx context.Context) error {
			if ctx.Err() == nil {
				t.Error("the scope is not cancelled")
			}
			return errBroken // to ask ctx is no wait
		})
		if err != errBroken {
			t.Errorf("Timeout around a body that does not wait returned %v", err)
		}
	})
}

// TestSwallowedDeadline: a deadline that ended a wait is returned by the scope
// that has it, whatever was made of the wait's error.
func TestSwallowedDeadline(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Timeout(ctx, time.Second, func(ctx context.Context) error {
			err := rondo.Timeout(ctx, time.Hour, forever)
			if !errors.Is(err, context.DeadlineExceeded) || rondo.TimedOut(ctx, err) {
				t.Errorf("the inner Timeout returned %v; its own deadline: %v", err, rondo.TimedOut(ctx, err))
			}
			return nil
		})
		if !errors.Is(err, context.DeadlineExceeded) || !rondo.TimedOut(ctx, err) {
			t.Errorf("the outer Timeout returned %v; its own deadline: %v", err, rondo.TimedOut(ctx, err))
		}
		err = rondo.Timeout(ctx, time.Hour, func(ctx context.Context) error {
			err := rondo.Timeout(ctx, time.Second, forever)
			if !rondo.TimedOut(ctx, fmt.Errorf("asking: %w", err)) || rondo.TimedOut(ctx, errBroken) {
				t.Errorf("the inner Timeout returned %v, not its own deadline", err)
			}
			return nil
		})
		if err != nil {
			t.Errorf("the outer Timeout returned %v for a deadline that was handled", err)
		}
	})
}

// TestSequenceThatWasCut: a sequence ends without an error when its ctx is
// cancelled; the scopes that were cancelled return the cause.
func TestSequenceThatWasCut(t *testing.T) {
	for name, sequence := range map[string]func(ctx context.Context){
		"Every": func(ctx context.Context) {
			for range rondo.Every(ctx, time.Minute) {
				continue
			}
		},
		"Queue.All": func(ctx context.Context) {
			for range rondo.NewQueue[int](0).All(ctx) {
				continue
			}
		},
		"AsCompleted": func(ctx context.Context) {
			for range rondo.AsCompleted(ctx, rondo.NewFuture[int](ctx)) {
				continue
			}
		},
	} {
		sim.Test(t, func(ctx context.Context) {
			var inner error
			err := rondo.Timeout(ctx, time.Hour, func(ctx context.Context) error {
				inner = rondo.Group(ctx, func(g *rondo.Scope) error {
					g.Go(func(ctx context.Context) error { sequence(ctx); return nil })
					return nil
				})
				return nil
			})
			if !errors.Is(inner, context.DeadlineExceeded) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: Group returned %v, Timeout %v", name, inner, err)
			}
		})
	}
}

// TestTwoDeadlinesAreTwoErrors: the deadline of one task's Timeout is no echo of
// that of another, for which the group failed.
func TestTwoDeadlinesAreTwoErrors(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 2 {
				g.Go(func(ctx context.Context) error { return rondo.Timeout(ctx, time.Second, forever) })
			}
			g.Go(forever)
			return nil
		})
		if n := strings.Count(fmt.Sprint(err), "deadline"); n != 2 {
			t.Errorf("Group returned %d deadlines: %v", n, err)
		}
	})
}

// TestDeadlinesJoined: an inner deadline that is joined with that of ctx is none that the
// caller can go on after.
func TestDeadlinesJoined(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Timeout(ctx, time.Second, func(ctx context.Context) error {
			err := rondo.Timeout(ctx, time.Millisecond, forever)
			if !rondo.TimedOut(ctx, err) {
				t.Errorf("TimedOut is false for the inner deadline alone")
			}
			err = errors.Join(err, forever(ctx))
			if rondo.TimedOut(ctx, err) {
				t.Errorf("TimedOut is true although ctx is cancelled: %v", err)
			}
			return err
		})
		if !rondo.TimedOut(ctx, err) {
			t.Errorf("Timeout returned %v", err)
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
