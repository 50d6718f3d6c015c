package kerneltest_test

import (
	"context"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestUnlockByAnotherTask: only the task that has locked a Mutex or RWMutex may
// unlock it while it lives, if that task is known; a callback may.
func TestUnlockByAnotherTask(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		type locker interface {
			Lock(ctx context.Context) error
			TryLock() bool
			Unlock()
		}
		for _, m := range []locker{new(rondo.Mutex), new(rondo.RWMutex)} {
			var gate rondo.Event
			holder := rondo.Go(ctx, func(ctx context.Context) error {
				if err := m.Lock(ctx); err != nil {
					return err
				}
				defer m.Unlock()
				return gate.Wait(ctx)
			})
			until(ctx, func() bool {
				if !m.TryLock() {
					return true
				}
				m.Unlock() // nobody knows who has it
				return false
			})
			panics(t, "that another task has locked", m.Unlock)
			waiter := rondo.Go(ctx, func(ctx context.Context) error { return m.Lock(ctx) })
			rondo.LoopOf(ctx).CallSoon(func() {
				gate.Set()
			})
			_ = holder.Wait(ctx)
			if !waiter.Done() {
				// It has been woken, and may not have run since.
				panics(t, "that another task has locked", m.Unlock)
			}
			_ = waiter.Wait(ctx)
			m.Unlock() // of a task that has ended
			panics(t, "Unlock of unlocked", m.Unlock)
		}
	})
}
