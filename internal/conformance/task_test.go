package conformance

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

func TestC060TaskThatWaitsForItself(t *testing.T) {
	run(t, func(ctx context.Context) error {
		if text := panicOf(func() { _ = rondo.Current(ctx).Wait(ctx) }); text != "rondo: Task.Wait of the task itself" {
			t.Errorf("panicked with %q", text)
		}
		return nil
	})
}

func TestC062CancelledSleepFreesItsTimer(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		task := rondo.Go(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
		_ = rondo.Sleep(ctx, 1)
		task.Cancel(errBroken)
		if err := task.Wait(ctx); err != errBroken || rondo.LoopOf(ctx).Stats().Timers != 0 {
			t.Errorf("the sleep ended with %v, and %d timers are set", err, rondo.LoopOf(ctx).Stats().Timers)
		}
	})
}

func TestC063CaughtCancellationKeepsTheResult(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		f := rondo.Async(ctx, func(ctx context.Context) (int, error) { _ = forever(ctx); return 42, nil })
		_ = rondo.Sleep(ctx, 1)
		f.Task().Cancel(nil)
		if v, err := f.Wait(ctx); v != 42 || err != nil {
			t.Errorf("got %v, %v", v, err)
		}
	})
}

func TestC064EachFurtherWaitFails(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		task := rondo.Go(ctx, func(ctx context.Context) error {
			for range 3 {
				if err := rondo.Sleep(ctx, time.Hour); err != errBroken {
					t.Errorf("a wait in a cancelled task returned %v", err)
				}
			}
			return nil
		})
		task.Cancel(errBroken)
		start := rondo.Now(ctx)
		if err := task.Wait(ctx); err != nil || rondo.Now(ctx) != start {
			t.Error(err)
		}
	})
}

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

// A task that returns context.Canceled although nobody cancelled it has failed.
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

// Who is cancelled while it waits for a task stops waiting, and the task goes on;
// it ends too if it was started with the ctx that is cancelled.
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
		t.Errorf("Run panicked with %.80q; main was cleaned up: %v", text, cleaned)
	}
}

func TestC075PendingTasksAreEndedAndWaitedFor(t *testing.T) {
	var reports []error
	ended := 0
	r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { reports = append(reports, err) }}
	_ = r.Run(t.Context(), func(ctx context.Context) error {
		for i := range 3 {
			rondo.Go(ctx, func(ctx context.Context) error {
				err := forever(ctx)
				ended++
				if i == 1 {
					return errBroken
				}
				return err
			})
		}
		return nil
	})
	if ended != 3 || len(reports) != 1 || reports[0] != errBroken {
		t.Errorf("%d of 3 tasks ended, reported %v", ended, reports)
	}
}

func TestC078CurrentTask(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		me := rondo.Current(ctx)
		rondo.LoopOf(ctx).CallSoon(func() {
			if rondo.Current(ctx) != nil {
				t.Error("a callback is in a task")
			}
		})
		task := rondo.Go(ctx, func(inner context.Context) error {
			if c := rondo.Current(inner); c == me || c != rondo.Current(ctx) {
				t.Error("Current is not the running task")
			}
			return nil
		})
		if err := task.Wait(ctx); err != nil || rondo.Current(ctx) != me {
			t.Error("Current has not come back", err)
		}
	})
}

// Rondo starts no task eagerly: what Go's caller does up to its next wait is done
// before the task begins, so it needs no lock.
func TestC080NoEagerStart(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		ran := false
		task := rondo.Go(ctx, func(context.Context) error { ran = true; return nil })
		f := rondo.Async(ctx, func(context.Context) (int, error) { return 1, nil })
		if ran || task.Done() || f.Done() {
			t.Error("a task ran inside Go")
		}
		if err := task.Wait(ctx); err != nil || !ran {
			t.Error(err)
		}
	})
}

func TestC081TaskThatWaitsFinishesLater(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		f := rondo.Async(ctx, after(time.Second, 7, nil))
		_ = rondo.Sleep(ctx, 1)
		if f.Done() {
			t.Error("it is done before its time")
		}
		if v, err := f.Wait(ctx); v != 7 || err != nil {
			t.Error(v, err)
		}
	})
}

func TestC082CancelAfterTheEndDoesNothing(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		f := rondo.Async(ctx, func(context.Context) (int, error) { return 1, nil })
		_ = rondo.Sleep(ctx, 1)
		f.Task().Cancel(errBroken)
		if v, err := f.Wait(ctx); v != 1 || err != nil || f.Task().Err() != nil {
			t.Error(v, err)
		}
	})
}
