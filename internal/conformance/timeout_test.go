package conformance

// Expectations of users of asyncio.timeout, wait_for and trio's cancel scopes.

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestC110TimeoutExpires: Timeout returns DeadlineExceeded when its body takes
// longer, and the scope around it goes on.
func TestC110TimeoutExpires(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Timeout(ctx, time.Second, forever)
		if !errors.Is(err, context.DeadlineExceeded) || rondo.Check(ctx) != nil {
			t.Errorf("Timeout returned %v, Check around it %v", err, rondo.Check(ctx))
		}
	})
}

// TestC111TimeoutInTimeLeavesNoTimer: a Timeout whose body returns in time leaves
// no timer and cancels nothing later.
func TestC111TimeoutInTimeLeavesNoTimer(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Timeout(ctx, time.Hour, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Second) })
		if n := rondo.LoopOf(ctx).Stats().Timers; err != nil || n != 0 {
			t.Errorf("Timeout returned %v, %d timers are left", err, n)
		}
		if err := rondo.Sleep(ctx, 2*time.Hour); err != nil {
			t.Errorf("the timer of the Timeout ended a later Sleep: %v", err)
		}
	})
}

// TestC112NoDeadlineAndALaterOne: SetDeadline gives a deadline to a scope that
// has none.
func TestC112NoDeadlineAndALaterOne(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			if err := rondo.Sleep(g, 1000*time.Hour); err != nil {
				t.Errorf("Sleep without a deadline returned %v", err)
			}
			g.SetDeadline(rondo.Now(ctx).Add(time.Second))
			return forever(g)
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Group returned %v", err)
		}
	})
}

// TestC113TimeoutOfZero: with a Timeout of zero the body runs, and its first wait
// fails. If it does not wait, Timeout returns nil.
func TestC113TimeoutOfZero(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		if err := rondo.Timeout(ctx, 0, func(context.Context) error { return nil }); err != nil {
			t.Errorf("without a wait: %v", err)
		}
		if err := rondo.Timeout(ctx, 0, func(ctx context.Context) error { return rondo.Sleep(ctx, 0) }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a wait: %v", err)
		}
	})
}

// TestC114NestedTimeouts: an inner Timeout that expires does not end the outer
// one, which can still expire.
func TestC114NestedTimeouts(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		var inner error
		outer := rondo.Timeout(ctx, 2*time.Second, func(ctx context.Context) error {
			inner = rondo.Timeout(ctx, time.Second, forever)
			if err := rondo.Check(ctx); err != nil {
				t.Errorf("the outer Timeout has expired too: %v", err)
			}
			return forever(ctx)
		})
		if !errors.Is(inner, context.DeadlineExceeded) || !errors.Is(outer, context.DeadlineExceeded) {
			t.Errorf("the inner Timeout returned %v, the outer one %v", inner, outer)
		}
	})
}

// TestC116OtherCancellationIsNoTimeout: a Timeout that is cancelled before its
// deadline returns the cause of that cancellation.
func TestC116OtherCancellationIsNoTimeout(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		task := rondo.Go(ctx, func(ctx context.Context) error { return rondo.Timeout(ctx, time.Hour, forever) })
		_ = rondo.Sleep(ctx, 1)
		task.Cancel(errBroken)
		if err := task.Wait(ctx); err != errBroken {
			t.Errorf("Wait returned %v", err)
		}
	})
}

// TestC117ErrorBesideATimeout: if the deadline ends a wait and the body returns
// an error of its own, Timeout returns both.
func TestC117ErrorBesideATimeout(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Timeout(ctx, 1, func(ctx context.Context) error { _ = forever(ctx); return errBroken })
		if !errors.Is(err, errBroken) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Timeout returned %v", err)
		}
	})
}

// TestC119DeadlineOfAnEndedScope: SetDeadline and Cancel do nothing to a scope
// that has ended.
//
// asyncio raises RuntimeError. Here the caller may be another task, which cannot
// know.
func TestC119DeadlineOfAnEndedScope(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		var kept *rondo.Scope
		_ = rondo.Group(ctx, func(g *rondo.Scope) error { kept = g; return nil })
		kept.SetDeadline(rondo.Now(ctx).Add(time.Second))
		kept.Cancel(errBroken)
		if err := rondo.Sleep(ctx, time.Minute); err != nil {
			t.Errorf("Sleep returned %v", err)
		}
	})
}

// TestC120TimeoutWaitsForCleanUp: Timeout returns when the clean-up of its body
// has run, however long that takes.
func TestC120TimeoutWaitsForCleanUp(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		start, cleaned := rondo.Now(ctx), false
		err := rondo.Timeout(ctx, time.Second, func(ctx context.Context) error {
			err := forever(ctx)
			_ = rondo.Shield(ctx, func(ctx context.Context) error { cleaned = true; return rondo.Sleep(ctx, time.Minute) })
			return err
		})
		if !errors.Is(err, context.DeadlineExceeded) || !cleaned || rondo.Now(ctx).Sub(start) != 61*time.Second {
			t.Errorf("Timeout returned %v after %v; the clean-up ran: %v", err, rondo.Now(ctx).Sub(start), cleaned)
		}
	})
}

// TestC122TimeoutOfZeroAndADoneFuture: in a Timeout of zero, Future.Wait fails
// with DeadlineExceeded, also if the Future is done. Future.Result, which does
// not wait, returns its value.
//
// asyncio's wait_for(fut, 0) returns the result of a Future that is done.
func TestC122TimeoutOfZeroAndADoneFuture(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		f := rondo.NewFuture[int](ctx)
		f.Set(7)
		err := rondo.Timeout(ctx, 0, func(ctx context.Context) error {
			if v, err := f.Result(); v != 7 || err != nil {
				t.Errorf("Result returned %v, %v", v, err)
			}
			_, err := f.Wait(ctx)
			return err
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Timeout returned %v", err)
		}
	})
}

// TestC124TimeoutAroundAShield: a Timeout around a Shield waits until the body of
// the Shield has returned.
//
// asyncio's wait_for returns at once, and the shielded task runs on.
func TestC124TimeoutAroundAShield(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		finished := false
		err := rondo.Timeout(ctx, time.Second, func(ctx context.Context) error {
			_ = rondo.Shield(ctx, func(ctx context.Context) error {
				finished = rondo.Sleep(ctx, time.Minute) == nil
				return nil
			})
			return rondo.Check(ctx)
		})
		if !errors.Is(err, context.DeadlineExceeded) || !finished {
			t.Errorf("Timeout returned %v; the body of the Shield ran to its end: %v", err, finished)
		}
	})
}

// TestC221OuterDeadlineEndsTheOuterScope: when the deadline of an outer scope
// passes first, both scopes are cancelled at that moment.
func TestC221OuterDeadlineEndsTheOuterScope(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		start, went := rondo.Now(ctx), false
		outer := rondo.Timeout(ctx, 5*time.Second, func(ctx context.Context) error {
			inner := rondo.Timeout(ctx, 10*time.Second, forever)
			went = rondo.Check(ctx) == nil
			return inner
		})
		if !errors.Is(outer, context.DeadlineExceeded) || went || rondo.Now(ctx).Sub(start) != 5*time.Second {
			t.Errorf("the outer Timeout returned %v; its body went on: %v", outer, went)
		}
	})
}

// TestC222ScopeInACancelledScope: Group, Timeout and Deadline in a cancelled scope
// return the cause and do not run their body.
//
// In trio the body runs up to its first checkpoint.
func TestC222ScopeInACancelledScope(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		body := func(context.Context) error { t.Error("the body ran"); return nil }
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Cancel(errBroken)
			for name, err := range map[string]error{
				"Group":    rondo.Group(g, func(g *rondo.Scope) error { return body(g) }),
				"Timeout":  rondo.Timeout(g, time.Hour, body),
				"Deadline": rondo.Deadline(g, rondo.Now(g).Add(time.Hour), body),
			} {
				if err != errBroken {
					t.Errorf("%s returned %v, want the cause", name, err)
				}
			}
			return nil
		})
	})
}
