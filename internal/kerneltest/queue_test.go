package kerneltest_test

import (
	"context"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestSlidingQueue keeps the last values, and counts those that it drops.
func TestSlidingQueue(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		q := rondo.NewSlidingQueue[int](2)
		for v := range 5 {
			if err := q.Put(ctx, v); err != nil {
				t.Error(err)
			}
		}
		if q.Len() != 2 || q.Dropped() != 3 {
			t.Errorf("%d values are left and %d were dropped, want 2 and 3", q.Len(), q.Dropped())
		}
		for want := 3; want <= 4; want++ {
			if v, err := q.Get(ctx); v != want || err != nil {
				t.Errorf("Get returned %d, %v, want %d", v, err, want)
			}
			q.TaskDone()
		}
		if err := q.Join(ctx); err != nil { // what was dropped needs no work
			t.Error(err)
		}
		panics(t, "rondo: NewSlidingQueue with a limit that is not positive", func() { rondo.NewSlidingQueue[int](0) })
	})
}

// TestSlidingQueueInEveryOrder: a Get that was promised a value has one, also if that
// one was dropped meanwhile.
func TestSlidingQueueInEveryOrder(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		q := rondo.NewSlidingQueue[int](1)
		got := 0
		get := rondo.Go(ctx, func(ctx context.Context) error {
			_, err := q.Get(ctx)
			if err == nil {
				got++
			}
			return nil
		})
		rondo.Go(ctx, func(context.Context) error { q.TryPut(1); q.TryPut(2); return nil })
		rondo.Go(ctx, func(context.Context) error { get.Cancel(errStop); return nil })
		_ = get.Wait(ctx)
		_ = rondo.Sleep(ctx, 1)
		if n := int(q.Dropped()) + q.Len() + got; n != 2 || q.Dropped()+uint64(got) == 0 {
			t.Errorf("of 2 values %d were got, %d dropped and %d are left", got, q.Dropped(), q.Len())
		}
	})
}
