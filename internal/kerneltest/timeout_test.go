package kerneltest_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

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
			if rondo.TimedOut(ctx, inner) {
				t.Errorf("the inner deadline counts: %v", inner)
			}
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

// TestOuterDeadlineThatIsSetLast: of two deadlines at the same instant the outer one counts on a
// real loop too, whose timers fire in the order in which they were set. Both must be set before the
// instant, which takes a slow machine longer.
func TestOuterDeadlineThatIsSetLast(t *testing.T) {
	run(t, func(ctx context.Context) error {
		for after, set := time.Millisecond, false; !set; after *= 2 {
			at := rondo.Now(ctx).Add(after)
			var inner error
			err := rondo.Group(ctx, func(outer *rondo.Scope) error {
				inner = rondo.Deadline(outer, at, func(ctx context.Context) error {
					outer.SetDeadline(at)
					set = rondo.Now(ctx).Before(at)
					return forever(ctx)
				})
				if set && rondo.TimedOut(outer, inner) {
					t.Errorf("the inner deadline counts: %v", inner)
				}
				return nil
			})
			if set && !rondo.TimedOut(ctx, err) {
				t.Errorf("Group returned %v", err)
			}
		}
		return nil
	})
}

// TestDeadlineWithoutCancel: a deadline below context.WithoutCancel ends the waits there, also if
// one above has passed before or passes at the same instant. Of several below it the outer one
// counts.
func TestDeadlineWithoutCancel(t *testing.T) {
	after := func(ctx context.Context) error {
		for _, d := range []time.Duration{0, time.Millisecond} {
			err := rondo.Timeout(ctx, time.Millisecond, func(ctx context.Context) error {
				_ = forever(ctx)
				err := rondo.Timeout(context.WithoutCancel(ctx), d, forever)
				if !rondo.TimedOut(ctx, err) {
					t.Errorf("after the outer deadline Timeout of %v returned %v", d, err)
				}
				return nil
			})
			if !rondo.TimedOut(ctx, err) {
				t.Errorf("the outer Timeout returned %v", err)
			}
		}
		return nil
	}
	run(t, after)
	sim.Test(t, func(ctx context.Context) { _ = after(ctx) })
	sim.Explore(t, func(ctx context.Context) {
		at := rondo.Now(ctx).Add(time.Second)
		err := rondo.Deadline(ctx, at, func(above context.Context) error {
			_ = rondo.Deadline(context.WithoutCancel(above), at, func(below context.Context) error {
				err := rondo.Deadline(below, at, forever)
				if !rondo.TimedOut(above, err) || rondo.TimedOut(below, err) {
					t.Errorf("the innermost Deadline returned %v, of another deadline", err)
				}
				return nil
			})
			return nil
		})
		if err != nil {
			t.Errorf("the outermost Deadline, which has ended no wait, returned %v", err)
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

// TestOuterDeadlineThatIsDue: a scope that gets a deadline which has passed, as has that of the
// scope around it, cancels the outer scope although the loop has not come to its timer yet.
func TestOuterDeadlineThatIsDue(t *testing.T) {
	for name, open := range map[string]func(ctx context.Context, at time.Time, body func()){
		"opened late": func(ctx context.Context, at time.Time, body func()) {
			_ = rondo.Deadline(ctx, at, func(context.Context) error { body(); return nil })
		},
		"moved": func(ctx context.Context, at time.Time, body func()) {
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				g.SetDeadline(at.Add(time.Hour))
				g.SetDeadline(at)
				body()
				return nil
			})
		},
	} {
		run(t, func(ctx context.Context) error {
			at := rondo.Now(ctx).Add(time.Millisecond)
			_ = rondo.Deadline(ctx, at, func(ctx context.Context) error {
				for !rondo.Now(ctx).After(at) {
					continue // keeps the loop from its timers
				}
				open(ctx, at, func() {
					if ctx.Err() == nil {
						t.Errorf("%s: the inner scope has ended alone", name)
					}
				})
				return nil
			})
			return nil
		})
	}
}

// TestPassedDeadline: a deadline that has passed, however long ago, is the scope's own. Among
// them is instant 0 of a simulated clock, 1,000 hours before the start, and those before it.
func TestPassedDeadline(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		start := rondo.Now(ctx)
		for _, d := range []time.Duration{0, -1, -time.Hour, -1000*time.Hour + 1, -1000 * time.Hour, -1000*time.Hour - 1, -1001 * time.Hour, math.MinInt64} {
			sleep := func(ctx context.Context) error { return rondo.Sleep(ctx, time.Second) }
			for name, err := range map[string]error{
				"Timeout":  rondo.Timeout(ctx, d, sleep),
				"Deadline": rondo.Deadline(ctx, start.Add(d), sleep),
				"SetDeadline": rondo.Group(ctx, func(g *rondo.Scope) error {
					g.SetDeadline(start.Add(d))
					if at, ok := g.Deadline(); !ok || !at.Equal(start.Add(d)) {
						t.Errorf("the deadline of the scope is %v, %v; want %v", at, ok, start.Add(d))
					}
					return sleep(g)
				}),
			} {
				if !rondo.TimedOut(ctx, err) || rondo.Check(ctx) != nil {
					t.Errorf("%s of %v returned %v; its caller is cancelled: %v", name, d, err, rondo.Check(ctx))
				}
			}
			var called rondo.Event
			rondo.LoopOf(ctx).CallAt(start.Add(d), called.Set)
			if err := called.Wait(ctx); err != nil {
				t.Error(err)
			}
		}
	})
}
