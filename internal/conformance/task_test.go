package conformance

// Expectations of users of tasks and their cancellation.

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestC060TaskThatWaitsForItself: a task that waits for itself panics.
func TestC060TaskThatWaitsForItself(t *testing.T) {
	run(t, func(ctx context.Context) error {
		if text := panicOf(func() { _ = rondo.Current(ctx).Wait(ctx) }); !strings.HasPrefix(text, "rondo: Task.Wait of the task itself, ") {
			t.Errorf("panic %q", text)
		}
		return nil
	})
}

// TestC062CancelledSleepFreesItsTimer: a Sleep that is cancelled fails at once
// and leaves no timer.
func TestC062CancelledSleepFreesItsTimer(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		task := rondo.Go(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
		_ = rondo.Sleep(ctx, 1)
		task.Cancel(errBroken)
		if err := task.Wait(ctx); err != errBroken || rondo.LoopOf(ctx).Stats().Timers != 0 {
			t.Errorf("the Sleep returned %v; %d timers are set", err, rondo.LoopOf(ctx).Stats().Timers)
		}
	})
}

// TestC063CaughtCancellationKeepsTheResult: a task that returns nil although it
// was cancelled has its result, and no error.
func TestC063CaughtCancellationKeepsTheResult(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		f := rondo.Async(ctx, func(ctx context.Context) (int, error) { _ = forever(ctx); return 42, nil })
		_ = rondo.Sleep(ctx, 1)
		f.Task().Cancel(nil)
		if v, err := f.Wait(ctx); v != 42 || err != nil {
			t.Errorf("Wait returned %v, %v, want 42", v, err)
		}
	})
}

// TestC064EachFurtherWaitFails: each wait of a cancelled task fails, not just the
// first.
//
// In asyncio the second wait goes on until the task is cancelled again.
func TestC064EachFurtherWaitFails(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		task := rondo.Go(ctx, func(ctx context.Context) error {
			for range 3 {
				if err := rondo.Sleep(ctx, time.Hour); err != errBroken {
					t.Errorf("a wait of a cancelled task returned %v", err)
				}
			}
			return nil
		})
		task.Cancel(errBroken)
		start := rondo.Now(ctx)
		if err := task.Wait(ctx); err != nil || rondo.Now(ctx) != start {
			t.Errorf("Wait returned %v after %v", err, rondo.Now(ctx).Sub(start))
		}
	})
}

// TestC065SecondCancelAddsNothing: a second Cancel does nothing. The cause is the
// first one's.
//
// asyncio counts the calls.
func TestC065SecondCancelAddsNothing(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		task := rondo.Go(ctx, forever)
		task.Cancel(errBroken)
		task.Cancel(errors.New("second"))
		if err := task.Wait(ctx); err != errBroken {
			t.Errorf("the task ended with %v", err)
		}
	})
}

// TestC068CauseIsCarried: waits of a cancelled task fail with the error that
// Cancel was given.
func TestC068CauseIsCarried(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		why := errors.New("m")
		task := rondo.Go(ctx, func(ctx context.Context) error {
			err := forever(ctx)
			if context.Cause(ctx) != why || ctx.Err() != context.Canceled {
				t.Errorf("Cause %v, Err %v", context.Cause(ctx), ctx.Err())
			}
			return err
		})
		_ = rondo.Sleep(ctx, 1)
		task.Cancel(why)
		if err := task.Wait(ctx); err != why {
			t.Errorf("the task ended with %v", err)
		}
	})
}

// TestC070CanceledByItselfIsAFailure: a task that was not cancelled and returns
// context.Canceled has failed with it.
//
// asyncio takes such a task for cancelled.
func TestC070CanceledByItselfIsAFailure(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(context.Context) error { return context.Canceled })
			return nil
		})
		if err != context.Canceled {
			t.Errorf("Group returned %v", err)
		}
	})
}

// TestC071CancelledWaiterAndItsChild: cancelling a task cancels the tasks it has
// started with its ctx, but not a task that it only waits for.
//
// asyncio cancels what the task waits for.
func TestC071CancelledWaiterAndItsChild(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		other := rondo.Go(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Minute) })
		var child *rondo.Task
		parent := rondo.Go(ctx, func(ctx context.Context) error {
			child = rondo.Go(ctx, forever)
			return other.Wait(ctx)
		})
		_ = rondo.Sleep(ctx, 1)
		parent.Cancel(errBroken)
		if err := parent.Wait(ctx); err != errBroken {
			t.Errorf("the parent ended with %v", err)
		}
		if err := child.Wait(ctx); err != errBroken {
			t.Errorf("the child ended with %v", err)
		}
		if err := other.Wait(ctx); err != nil {
			t.Errorf("the task that was waited for ended with %v", err)
		}
	})
}

// TestC073PanicEndsTheRun: a panic in a task cancels all tasks, and Run panics
// when they have ended.
func TestC073PanicEndsTheRun(t *testing.T) {
	cleaned := false
	text := panicOf(func() {
		_ = rondo.Run(t.Context(), func(ctx context.Context) error {
			rondo.Go(ctx, func(context.Context) error { panic("fatal") })
			defer func() { cleaned = true }()
			return forever(ctx)
		})
	})
	if !cleaned || !strings.Contains(text, "fatal") {
		t.Errorf("Run panicked with %.80q; the deferred calls of main ran: %v", text, cleaned)
	}
}

// TestC078CurrentTask: Current returns the running task, and nil in a callback.
func TestC078CurrentTask(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		me := rondo.Current(ctx)
		rondo.LoopOf(ctx).CallSoon(func() {
			if rondo.Current(ctx) != nil {
				t.Error("Current in a callback is not nil")
			}
		})
		task := rondo.Go(ctx, func(inner context.Context) error {
			if c := rondo.Current(inner); c == me || c != rondo.Current(ctx) {
				t.Error("Current is not the running task")
			}
			return nil
		})
		if err := task.Wait(ctx); err != nil || rondo.Current(ctx) != me {
			t.Errorf("Wait returned %v; Current after it: %v, want %v", err, rondo.Current(ctx), me)
		}
	})
}

// TestC080NoEagerStart: Go and Async return before the task has begun. What the
// caller does before its next wait is done when the task begins.
//
// asyncio can start tasks eagerly.
func TestC080NoEagerStart(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		ran := false
		task := rondo.Go(ctx, func(context.Context) error { ran = true; return nil })
		f := rondo.Async(ctx, func(context.Context) (int, error) { return 1, nil })
		if ran || task.Done() || f.Done() {
			t.Error("a task ran inside Go")
		}
		if err := task.Wait(ctx); err != nil || !ran {
			t.Errorf("Wait returned %v; the task ran: %v", err, ran)
		}
	})
}

// TestC081TaskThatWaitsFinishesLater: a task that waits is done when its function
// has returned.
func TestC081TaskThatWaitsFinishesLater(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		f := rondo.Async(ctx, after(time.Second, 7, nil))
		_ = rondo.Sleep(ctx, 1)
		if f.Done() {
			t.Error("the Future is done while its task waits")
		}
		if v, err := f.Wait(ctx); v != 7 || err != nil {
			t.Errorf("Wait returned %v, %v, want 7", v, err)
		}
	})
}

// TestC082CancelAfterTheEndDoesNothing: Cancel of a task that has ended does
// nothing.
func TestC082CancelAfterTheEndDoesNothing(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		f := rondo.Async(ctx, func(context.Context) (int, error) { return 1, nil })
		_ = rondo.Sleep(ctx, 1)
		f.Task().Cancel(errBroken)
		if v, err := f.Wait(ctx); v != 1 || err != nil || f.Task().Err() != nil {
			t.Errorf("Wait returned %v, %v; the task's error is %v", v, err, f.Task().Err())
		}
	})
}

// TestC222CancelledBeforeItsFirstStep: a task that is cancelled before its first
// step runs, and its first wait fails.
//
// asyncio never runs such a task.
func TestC222CancelledBeforeItsFirstStep(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		ran, first := false, error(nil)
		task := rondo.Go(ctx, func(ctx context.Context) error {
			ran = true
			first = rondo.Yield(ctx)
			return first
		})
		task.Cancel(errBroken)
		if err := task.Wait(ctx); !ran || first != errBroken || err != errBroken {
			t.Errorf("Wait returned %v; the task ran: %v; its first wait returned %v", err, ran, first)
		}
	})
}
