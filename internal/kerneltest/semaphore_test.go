package kerneltest_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestAcquireN: a task that wants many permits gets them although others want few,
// and they are taken together.
func TestAcquireN(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		s := rondo.NewSemaphore(3)
		var order []string
		take := func(name string, n int) *rondo.Task {
			task := rondo.Go(ctx, func(ctx context.Context) error {
				if err := s.AcquireN(ctx, n); err != nil {
					return err
				}
				order = append(order, name)
				return nil
			})
			_ = rondo.Sleep(ctx, 1)
			return task
		}
		take("two", 2)
		take("all", 3)
		take("one", 1) // there is a permit, but it is not its turn
		if s.TryAcquire() || s.TryAcquireN(1) {
			t.Error("TryAcquire has overtaken a task that waits")
		}
		s.ReleaseN(1)
		_ = rondo.Sleep(ctx, 1)
		if want := []string{"two"}; !slices.Equal(order, want) {
			t.Errorf("%v have permits, want %v", order, want)
		}
		s.Release()
		_ = rondo.Sleep(ctx, 1)
		s.ReleaseN(3)
		_ = rondo.Sleep(ctx, 1)
		if want := []string{"two", "all", "one"}; !slices.Equal(order, want) {
			t.Errorf("%v have permits, want %v", order, want)
		}
		if s.TryAcquireN(math.MaxInt) { // one is held
			t.Error("more permits were taken than there are, because their number overflowed")
		}
		if err := s.AcquireN(ctx, 0); err != nil {
			t.Errorf("AcquireN of no permits: %v", err)
		}
		s.ReleaseN(0)
		panics(t, "ReleaseN of more permits", func() { s.ReleaseN(2) })
		panics(t, "Semaphore.ReleaseN with a negative number", func() { s.ReleaseN(-1) })
		panics(t, "Semaphore.AcquireN with a negative number", func() { _ = s.AcquireN(ctx, -1) })
		panics(t, "Semaphore.TryAcquireN with a negative number", func() { s.TryAcquireN(-1) })
	})
}

// TestAcquireNInEveryOrder: a task that wants many permits and is cancelled does not
// hold up those behind it, and no permit is lost.
func TestAcquireNInEveryOrder(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		s := rondo.NewSemaphore(2)
		s.TryAcquire()
		use := func(n int) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				if err := s.AcquireN(ctx, n); err != nil {
					return err
				}
				s.ReleaseN(n)
				return nil
			}
		}
		big := rondo.Go(ctx, use(2))
		small := rondo.Go(ctx, use(1))
		rondo.Go(ctx, func(context.Context) error { big.Cancel(errStop); return nil })
		rondo.Go(ctx, func(context.Context) error { s.Release(); return nil })
		if err := small.Wait(ctx); err != nil {
			t.Error(err)
		}
		_ = big.Wait(ctx)
		if !s.TryAcquireN(2) {
			t.Error("a permit is lost")
		}
	})
}

// TestAcquireNCancelled: a task that was cancelled in the line holds up nobody behind it, even
// before it has run.
func TestAcquireNCancelled(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		s := rondo.NewSemaphore(2)
		_ = s.Acquire(ctx)
		large := rondo.Go(ctx, func(ctx context.Context) error { return s.AcquireN(ctx, 2) })
		_ = rondo.Yield(ctx)
		waits := large.Info().State == "waiting"
		if large.Cancel(nil); waits && !s.TryAcquire() {
			t.Error("the only task in the line was cancelled, and TryAcquire finds no permit")
		} else if waits {
			s.Release()
		}
		_ = large.Wait(ctx)
		large = rondo.Go(ctx, func(ctx context.Context) error { return s.AcquireN(ctx, 2) })
		_ = rondo.Yield(ctx)
		small := rondo.Go(ctx, s.Acquire)
		_ = rondo.Yield(ctx)
		large.Cancel(nil)
		if err := small.Wait(ctx); err != nil {
			t.Error(err)
		}
		_ = large.Wait(ctx)
	})
}
