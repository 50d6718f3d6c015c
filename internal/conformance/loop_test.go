package conformance

// Behaviour that asyncio promises of its loop, its futures and its tasks, each
// under the number of the project's list. Where Rondo means to differ, the test
// shows what Rondo does.

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

func TestC030CallSoonIsFIFO(t *testing.T) {
	run(t, func(ctx context.Context) error {
		log := ""
		for _, s := range []string{"a", "b", "c"} {
			rondo.LoopOf(ctx).CallSoon(func() { log += s })
		}
		err := rondo.Yield(ctx)
		if log != "abc" {
			t.Errorf("the order was %s", log)
		}
		return err
	})
}

func TestC031CallbackOfCallbackRunsNextTurn(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l := rondo.LoopOf(ctx)
		var first, second uint64
		l.CallSoon(func() {
			first = l.Stats().Turns
			l.CallSoon(func() { second = l.Stats().Turns })
		})
		_ = rondo.Yield(ctx)
		_ = rondo.Yield(ctx)
		if first == 0 || second != first+1 {
			t.Errorf("the first ran in turn %d, the second in turn %d", first, second)
		}
		return nil
	})
}

func TestC034CallLaterIsNotEarly(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		start := rondo.Now(ctx)
		var ran time.Duration
		rondo.LoopOf(ctx).CallLater(time.Second, func() { ran = rondo.Now(ctx).Sub(start) })
		h := rondo.LoopOf(ctx).CallLater(time.Millisecond, func() { t.Error("a cancelled handle fired") })
		h.Cancel()
		_ = rondo.Sleep(ctx, time.Minute)
		if ran < time.Second || ran > time.Second {
			t.Errorf("it fired after %v", ran)
		}
	})
}

func TestC035NegativeDelayIsNextTurn(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		start, ran := rondo.Now(ctx), false
		rondo.LoopOf(ctx).CallLater(-time.Hour, func() { ran = true })
		if ran {
			t.Error("it fired inline")
		}
		_ = rondo.Sleep(ctx, 1)
		if !ran || rondo.Now(ctx).Sub(start) != 1 {
			t.Error("it did not fire at once")
		}
	})
}

func TestC036NilCallbackIsRefused(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		l := rondo.LoopOf(ctx)
		before := l.Stats()
		for _, call := range []func(){
			func() { l.CallSoon(nil) }, func() { l.CallLater(1, nil) }, func() { l.CallAt(rondo.Now(ctx), nil) }, func() { _ = l.Post(nil) },
		} {
			if panicOf(call) == "" {
				t.Error("a nil callback was taken")
			}
		}
		if after := l.Stats(); after.Ready != before.Ready || after.Timers != before.Timers {
			t.Error("something was queued")
		}
	})
}

func TestC038EndedLoopRefuses(t *testing.T) {
	var l *rondo.Loop
	var old context.Context
	run(t, func(ctx context.Context) error { l, old = rondo.LoopOf(ctx), ctx; return nil })
	for name, call := range map[string]func(){
		"CallSoon": func() { l.CallSoon(func() {}) },
		"Go":       func() { rondo.Go(old, forever) },
		"Stats":    func() { l.Stats() },
	} {
		if text := panicOf(call); !strings.Contains(text, "the loop has ended") {
			t.Errorf("%s after the end: %q", name, text)
		}
	}
	if _, err := rondo.Submit(l, func(context.Context) (int, error) { return 1, nil }).Wait(context.Background()); !errors.Is(err, rondo.ErrLoopClosed) {
		t.Errorf("Submit after the end: %v", err)
	}
	if err := rondo.Sleep(old, 1); err == nil {
		t.Error("Sleep after the end")
	}
}

func TestC039NoLoopInALoop(t *testing.T) {
	run(t, func(ctx context.Context) error {
		if err := rondo.Run(ctx, forever); err == nil || !strings.Contains(err.Error(), "Run inside a task") {
			t.Errorf("Run in a task returned %v", err)
		}
		return nil
	})
}

func TestC041PostWakesASleepingLoop(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l, done := rondo.LoopOf(ctx), rondo.NewFuture[bool](ctx)
		go func() { _ = l.Post(func() { done.Set(rondo.Current(ctx) == nil) }) }()
		onLoop, err := done.Wait(ctx)
		if !onLoop {
			t.Error("the callback ran in a task")
		}
		return err
	})
}

// A callback that panics has no task to answer for it, so it ends the loop, also
// under Recover; asyncio logs it and goes on.
func TestC044CallbackPanicEndsTheLoop(t *testing.T) {
	ended := false
	text := panicOf(func() {
		_ = (&rondo.Runner{Recover: true}).Run(t.Context(), func(ctx context.Context) error {
			defer func() { ended = true }()
			rondo.LoopOf(ctx).CallSoon(func() { panic("oops") })
			return rondo.Sleep(ctx, time.Hour)
		})
	})
	if !ended || !strings.Contains(text, "panic in a callback: oops") {
		t.Errorf("Run panicked with %.80q; main ended: %v", text, ended)
	}
}

func TestC046PanicOfOnErrorEndsTheLoop(t *testing.T) {
	r := rondo.Runner{OnError: func(rondo.TaskInfo, error) { panic("oops") }}
	text := panicOf(func() {
		_ = r.Run(t.Context(), func(ctx context.Context) error {
			rondo.Go(ctx, func(context.Context) error { return errBroken })
			return nil
		})
	})
	if !strings.Contains(text, "oops") {
		t.Errorf("Run panicked with %.80q", text)
	}
}

func TestC055OnDoneIsNeverInline(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		f, calls := rondo.NewFuture[int](ctx), 0
		f.OnDone(func() { calls++ })
		f.Set(1)
		f.OnDone(func() { calls++ })
		if calls != 0 {
			t.Error("a callback ran inline")
		}
		_ = rondo.Sleep(ctx, 1)
		if calls != 2 {
			t.Errorf("%d of 2 callbacks ran", calls)
		}
	})
}

func TestC057SecondResultIsRefused(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		f := rondo.NewFuture[int](ctx)
		if !f.Set(1) || f.Set(2) || f.Fail(errBroken) {
			t.Error("a Future was set twice")
		}
		if v, err := f.Wait(ctx); v != 1 || err != nil {
			t.Errorf("it has %v, %v", v, err)
		}
	})
}

func TestC058UnreadFailureIsReportedOnce(t *testing.T) {
	for _, read := range []bool{false, true} {
		var reports []error
		r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { reports = append(reports, err) }}
		if err := r.Run(t.Context(), func(ctx context.Context) error {
			f := rondo.Async(ctx, func(context.Context) (int, error) { return 0, errBroken })
			_ = rondo.Yield(ctx)
			if read {
				_, _ = f.Result()
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		if want := map[bool]int{false: 1, true: 0}[read]; len(reports) != want {
			t.Errorf("read %v: reported %v", read, reports)
		}
	}
}

// A Future of another loop may be waited for; asyncio refuses that.
func TestC059FutureOfAnotherLoop(t *testing.T) {
	futures := make(chan *rondo.Future[int])
	ended := make(chan error)
	go func() {
		ended <- rondo.Run(context.Background(), func(ctx context.Context) error {
			f := rondo.NewFuture[int](ctx)
			futures <- f
			_, err := f.Wait(ctx)
			return err
		})
	}()
	run(t, func(ctx context.Context) error {
		f := <-futures
		rondo.Go(ctx, func(ctx context.Context) error { f.Set(7); return nil })
		v, err := f.Wait(ctx)
		if v != 7 {
			t.Errorf("the other loop's future gave %d", v)
		}
		return err
	})
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

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

func TestC077SubmitPassesTheError(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l := rondo.LoopOf(ctx)
		got := make(chan error, 1)
		go func() {
			_, err := rondo.Submit(l, func(context.Context) (int, error) { return 0, errBroken }).Wait(context.Background())
			got <- err
		}()
		outside, _, err := rondo.Receive(ctx, got)
		if outside != errBroken {
			t.Errorf("outside came %v", outside)
		}
		return err
	})
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

// What is done already is had without a turn of the loop; a Gather takes one,
// because its functions are tasks.
func TestC083WaitForWhatIsDoneTakesNoTurn(t *testing.T) {
	run(t, func(ctx context.Context) error {
		f := rondo.Async(ctx, func(context.Context) (int, error) { return 1, nil })
		if _, err := f.Wait(ctx); err != nil {
			return err
		}
		before := rondo.LoopOf(ctx).Stats().Turns
		_, _ = f.Wait(ctx)
		_, _ = rondo.WaitAny(ctx, f.Task())
		_ = f.Task().Wait(ctx)
		for range rondo.AsCompleted(ctx, f) {
		}
		if after := rondo.LoopOf(ctx).Stats().Turns; after != before {
			t.Errorf("waiting for what is done took %d turns", after-before)
		}
		_, err := rondo.Gather(ctx, f.Wait, f.Wait)
		return err
	})
}
