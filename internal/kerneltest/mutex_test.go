package kerneltest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestMutexExcludes: in every order, one task at a time holds the Mutex, and a
// wait that is cancelled does not take it.
func TestMutexExcludes(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		var m rondo.Mutex
		inside, entered := 0, 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			work := func(ctx context.Context) error {
				if err := m.Lock(ctx); err != nil {
					return err
				}
				defer m.Unlock()
				inside++
				entered++
				if inside != 1 {
					t.Error("two tasks hold the Mutex")
				}
				err := rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Yield(ctx) })
				inside--
				return err
			}
			g.Go(work)
			doomed := g.Go(work)
			g.Go(func(context.Context) error { doomed.Cancel(nil); return nil })
			return nil
		})
		if err != nil || entered < 1 || !m.TryLock() {
			t.Errorf("Group returned %v; %d tasks had the Mutex, or it is still locked", err, entered)
		}
	})
}

func TestMutexIsFair(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var m rondo.Mutex
		var order []int
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range 5 {
				g.Go(func(ctx context.Context) error {
					for range 2 {
						if err := m.Lock(ctx); err != nil {
							return err
						}
						order = append(order, i)
						if err := rondo.Yield(ctx); err != nil {
							return err
						}
						m.Unlock()
					}
					if i == 4 && fmt.Sprint(order) != "[0 1 2 3 4 0 1 2 3 4]" {
						t.Errorf("the order was %v", order)
					}
					return nil
				})
			}
			return nil
		})
	})
}

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
