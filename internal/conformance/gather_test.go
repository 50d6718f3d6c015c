package conformance

// Expectations of users of asyncio.gather, wait and as_completed.

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestC130GatherInArgumentOrder: Gather returns its results in the order of its
// arguments.
func TestC130GatherInArgumentOrder(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		got, err := rondo.Gather(ctx, after(3*time.Second, 1, nil), after(time.Second, 2, nil), after(2*time.Second, 3, nil))
		if err != nil || !slices.Equal(got, []int{1, 2, 3}) {
			t.Errorf("Gather returned %v, %v", got, err)
		}
	})
}

// TestC132GatherFails: Gather returns the first error. It has cancelled the other
// functions and waited for them by then.
//
// asyncio's gather lets the others run on.
func TestC132GatherFails(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		start, cut := rondo.Now(ctx), false
		got, err := rondo.Gather(ctx, after(time.Second, 0, errBroken), func(ctx context.Context) (int, error) {
			return 0, sleeper(time.Hour, nil, &cut)(ctx)
		})
		if err != errBroken || got != nil || !cut || rondo.Now(ctx).Sub(start) != time.Second {
			t.Errorf("Gather returned %v, %v; the other function was cancelled: %v", got, err, cut)
		}
	})
}

// TestC133SettleKeepsAllOutcomes: Settle returns the value or the error of each
// function, a cancellation included.
func TestC133SettleKeepsAllOutcomes(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		got := rondo.Settle(ctx, after(time.Second, 1, nil), after(1, 0, errBroken), func(ctx context.Context) (int, error) {
			rondo.Current(ctx).Cancel(context.Canceled)
			return 0, rondo.Yield(ctx)
		})
		if want := []rondo.Result[int]{{Value: 1}, {Err: errBroken}, {Err: context.Canceled}}; !slices.Equal(got, want) {
			t.Errorf("Settle returned %v, want %v", got, want)
		}
	})
}

// TestC135GatherOfNothing: Gather without functions returns an empty slice.
func TestC135GatherOfNothing(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		if got, err := rondo.Gather[int](ctx); got == nil || len(got) != 0 || err != nil {
			t.Errorf("Gather returned %v, %v", got, err)
		}
	})
}

// TestC136WaitAnyInATimeoutCancelsNothing: WaitAny that is cut off by a Timeout
// does not cancel the tasks it waits for.
func TestC136WaitAnyInATimeoutCancelsNothing(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		cut := false
		a, b := rondo.Go(ctx, sleeper(time.Minute, nil, &cut)), rondo.Go(ctx, sleeper(time.Hour, nil, &cut))
		err := rondo.Timeout(ctx, time.Second, func(ctx context.Context) error { _, err := rondo.WaitAny(ctx, a, b); return err })
		if !errors.Is(err, context.DeadlineExceeded) || a.Done() || b.Done() {
			t.Errorf("Timeout returned %v; the tasks have ended: %v, %v", err, a.Done(), b.Done())
		}
		if first, err := rondo.WaitAny(ctx, b, a); first != a || err != nil || cut {
			t.Errorf("WaitAny returned %v, %v; a task was cancelled: %v", first, err, cut)
		}
	})
}

// TestC138AsCompletedGivesTheOriginals: AsCompleted yields the Futures that it
// was given, in the order in which they are done. Those that are done already
// come first.
func TestC138AsCompletedGivesTheOriginals(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		a, b, c := rondo.Async(ctx, after(2*time.Second, 1, nil)), rondo.Async(ctx, after(time.Second, 2, nil)), rondo.NewFuture[int](ctx)
		c.Set(3)
		if got := slices.Collect(rondo.AsCompleted(ctx, a, b, c)); !slices.Equal(got, []*rondo.Future[int]{c, b, a}) {
			t.Errorf("AsCompleted yielded %v", got)
		}
	})
}
