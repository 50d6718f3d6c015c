package conformance

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

func TestC110TimeoutExpires(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Timeout(ctx, time.Second, forever)
		if !errors.Is(err, context.DeadlineExceeded) || rondo.Check(ctx) != nil {
			t.Error(err, rondo.Check(ctx))
		}
	})
}

func TestC111TimeoutInTimeLeavesNoTimer(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Timeout(ctx, time.Hour, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Second) })
		if n := rondo.LoopOf(ctx).Stats().Timers; err != nil || n != 0 {
			t.Errorf("Timeout returned %v, %d timers are left", err, n)
		}
		if err := rondo.Sleep(ctx, 2*time.Hour); err != nil {
			t.Error(err)
		}
	})
}

func TestC112NoDeadlineAndALaterOne(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			if err := rondo.Sleep(g, 1000*time.Hour); err != nil {
				t.Error(err)
			}
			g.SetDeadline(rondo.Now(ctx).Add(time.Second))
			return forever(g)
		})
		if err != context.DeadlineExceeded {
			t.Error(err)
		}
	})
}

func TestC113TimeoutOfZero(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		if err := rondo.Timeout(ctx, 0, func(context.Context) error { return nil }); err != nil {
			t.Errorf("without a wait: %v", err)
		}
		if err := rondo.Timeout(ctx, 0, func(ctx context.Context) error { return rondo.Sleep(ctx, 0) }); err != context.DeadlineExceeded {
			t.Errorf("with a wait: %v", err)
		}
	})
}

func TestC114NestedTimeouts(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		var inner error
		outer := rondo.Timeout(ctx, 2*time.Second, func(ctx context.Context) error {
			inner = rondo.Timeout(ctx, time.Second, forever)
			if err := rondo.Check(ctx); err != nil {
				t.Errorf("the outer one has expired as well: %v", err)
			}
			return forever(ctx)
		})
		if inner != context.DeadlineExceeded || outer != context.DeadlineExceeded {
			t.Error(inner, outer)
		}
	})
}

func TestC116OtherCancellationIsNoTimeout(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		task := rondo.Go(ctx, func(ctx context.Context) error { return rondo.Timeout(ctx, time.Hour, forever) })
		_ = rondo.Sleep(ctx, 1)
		task.Cancel(errBroken)
		if err := task.Wait(ctx); err != errBroken {
			t.Error(err)
		}
	})
}

func TestC117ErrorBesideATimeout(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Timeout(ctx, 1, func(ctx context.Context) error { _ = forever(ctx); return errBroken })
		if !errors.Is(err, errBroken) || !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// Moving the deadline of a scope that has ended does nothing, as cancelling it:
// it is no error, because who moves it cannot know.
func TestC119DeadlineOfAnEndedScope(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		var kept *rondo.Scope
		_ = rondo.Group(ctx, func(g *rondo.Scope) error { kept = g; return nil })
		kept.SetDeadline(rondo.Now(ctx).Add(time.Second))
		kept.Cancel(errBroken)
		if err := rondo.Sleep(ctx, time.Minute); err != nil {
			t.Error(err)
		}
	})
}

func TestC120TimeoutWaitsForCleanUp(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		start, cleaned := rondo.Now(ctx), false
		err := rondo.Timeout(ctx, time.Second, func(ctx context.Context) error {
			err := forever(ctx)
			_ = rondo.Shield(ctx, func(ctx context.Context) error { cleaned = true; return rondo.Sleep(ctx, time.Minute) })
			return err
		})
		if err != context.DeadlineExceeded || !cleaned || rondo.Now(ctx).Sub(start) != 61*time.Second {
			t.Error(err, cleaned, rondo.Now(ctx).Sub(start))
		}
	})
}

// A wait in a scope whose time is over fails, also for what is done already: its
// Result is there without waiting.
func TestC122TimeoutOfZeroAndADoneFuture(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		f := rondo.NewFuture[int](ctx)
		f.Set(7)
		err := rondo.Timeout(ctx, 0, func(ctx context.Context) error {
			if v, err := f.Result(); v != 7 || err != nil {
				t.Error(v, err)
			}
			_, err := f.Wait(ctx)
			return err
		})
		if err != context.DeadlineExceeded {
			t.Error(err)
		}
	})
}

// A Shield holds the Timeout around it: it is finished first.
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
		if err != context.DeadlineExceeded || !finished {
			t.Error(err, finished)
		}
	})
}

func TestC221OuterDeadlineEndsTheOuterScope(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		start, went := rondo.Now(ctx), false
		outer := rondo.Timeout(ctx, 5*time.Second, func(ctx context.Context) error {
			inner := rondo.Timeout(ctx, 10*time.Second, forever)
			went = rondo.Check(ctx) == nil
			return inner
		})
		if outer != context.DeadlineExceeded || went || rondo.Now(ctx).Sub(start) != 5*time.Second {
			t.Error(outer, went)
		}
	})
}
