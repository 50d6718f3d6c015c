package conformance

// Expectations of users of futures.

import (
	"context"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestC055OnDoneIsNeverInline: a callback of OnDone runs in a later turn, never
// inside Set or OnDone.
func TestC055OnDoneIsNeverInline(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		f, calls := rondo.NewFuture[int](ctx), 0
		f.OnDone(func() { calls++ })
		f.Set(1)
		f.OnDone(func() { calls++ })
		if calls != 0 {
			t.Error("a callback ran inside Set or OnDone")
		}
		_ = rondo.Sleep(ctx, 1)
		if calls != 2 {
			t.Errorf("%d of 2 callbacks ran", calls)
		}
	})
}

// TestC057SecondResultIsRefused: Set and Fail of a Future that is done return
// false and change nothing.
//
// asyncio raises InvalidStateError.
func TestC057SecondResultIsRefused(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		f := rondo.NewFuture[int](ctx)
		if !f.Set(1) || f.Set(2) || f.Fail(errBroken) {
			t.Error("a Future that is done was set again")
		}
		if v, err := f.Wait(ctx); v != 1 || err != nil {
			t.Errorf("Wait returned %v, %v, want 1", v, err)
		}
	})
}

// TestC058UnreadFailureIsReportedOnce: an error of a Future that nobody has read
// is reported to OnError once.
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
			t.Errorf("read: %v; OnError got %v", read, reports)
		}
	}
}

// TestC059FutureOfAnotherLoop: a task may wait for a Future of another loop.
//
// asyncio raises RuntimeError.
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
			t.Errorf("Wait returned %d, want 7", v)
		}
		return err
	})
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestC077SubmitPassesTheError: Wait for a Future of Submit returns the error of
// the function.
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
			t.Errorf("Wait on another goroutine returned %v", outside)
		}
		return err
	})
}

// TestC083WaitForWhatIsDoneTakesNoTurn: Wait, WaitAny and AsCompleted take no
// turn of the loop for what is done. In a simulation no time passes after which the
// others would have a turn first.
func TestC083WaitForWhatIsDoneTakesNoTurn(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		f := rondo.Async(ctx, func(context.Context) (int, error) { return 1, nil })
		if _, err := f.Wait(ctx); err != nil {
			t.Fatal(err)
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
		if _, err := rondo.Gather(ctx, f.Wait, f.Wait); err != nil {
			t.Error(err)
		}
	})
}
