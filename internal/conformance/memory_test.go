package conformance

// Expectations about memory after many cancellations.

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// TestC244CancelledLeavesNothing: timers, scopes, waits and tasks that are
// cancelled, up to a million of them, leave the heap as large as it was.
func TestC244CancelledLeavesNothing(t *testing.T) {
	const slack = 1 << 20
	many := 1_000_000
	if testing.Short() {
		many /= 20
	}
	for name, c := range map[string]struct {
		n  int
		do func(ctx context.Context, n int) error
	}{
		"CallLater": {many, cancelCallbacks},
		"Timeout":   {many / 10, openTimeouts},
		"Go":        {many / 10, cancelUnstarted},
		"Sleep":     {many / 100, cancelSleeps},
		"Lock":      {many / 100, cancelLocks},
	} {
		run(t, func(ctx context.Context) error {
			if err := c.do(ctx, c.n); err != nil { // the loop's own lists grow to their size
				return err
			}
			before := heap()
			if err := c.do(ctx, c.n); err != nil {
				return err
			}
			if grown := heap() - before; grown > slack {
				t.Errorf("%s: the heap has grown by %d bytes", name, grown)
			}
			if n := rondo.LoopOf(ctx).Stats().Timers; n != 0 {
				t.Errorf("%s: %d timers are left", name, n)
			}
			return nil
		})
	}
}

// heap returns how many bytes are reachable.
func heap() int64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

func cancelCallbacks(ctx context.Context, n int) error {
	for range n {
		rondo.LoopOf(ctx).CallLater(time.Hour, func() {}).Cancel()
	}
	return nil
}

func openTimeouts(ctx context.Context, n int) error {
	for range n {
		if err := rondo.Timeout(ctx, time.Hour, func(context.Context) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

// cancelUnstarted cancels tasks before their first step.
func cancelUnstarted(ctx context.Context, n int) error {
	for range n {
		rondo.Go(ctx, forever).Cancel(nil)
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
	}
	return nil
}

func cancelSleeps(ctx context.Context, n int) error {
	return cancelWaits(ctx, n, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
}

func cancelLocks(ctx context.Context, n int) error {
	var m rondo.Mutex
	_ = m.TryLock()
	return cancelWaits(ctx, n, m.Lock)
}

// cancelWaits starts tasks that wait and cancels them one after the other.
func cancelWaits(ctx context.Context, n int, wait func(ctx context.Context) error) error {
	for range n {
		task := rondo.Go(ctx, func(ctx context.Context) error {
			if err := wait(ctx); err != errStop {
				return err
			}
			return nil
		})
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		task.Cancel(errStop)
		if err := task.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}
