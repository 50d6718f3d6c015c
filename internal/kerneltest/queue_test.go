package kerneltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

func TestQueueOrder(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		for _, limit := range []int{0, 1, 2, 7} {
			q := rondo.NewQueue[int](limit)
			var got []int
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(ctx context.Context) error {
					defer q.Close()
					for i := range 20 {
						if err := q.Put(ctx, i); err != nil {
							return err
						}
						if limit > 0 && q.Len() > limit {
							t.Errorf("%d values in a queue of %d", q.Len(), limit)
						}
					}
					return nil
				})
				for v := range q.All(g) {
					got = append(got, v)
				}
				return nil
			})
			if err != nil || len(got) != 20 || !slices.IsSorted(got) {
				t.Errorf("max %d: %v, got %v", limit, err, got)
			}
		}
	})
}

// TestQueueLosesNothing: in every order of two putters, two getters of which one
// is cancelled, and Close, each value that Put accepted is got exactly once or
// is still there.
func TestQueueLosesNothing(t *testing.T) {
	for _, limit := range []int{0, 1} {
		sim.Explore(t, func(ctx context.Context) {
			q := rondo.NewQueue[int](limit)
			var in, out []int
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				for i := range 2 {
					g.Go(func(ctx context.Context) error {
						if err := q.Put(ctx, i); err != nil {
							return ignoreClosed(err)
						}
						in = append(in, i)
						return nil
					})
				}
				get := func(ctx context.Context) error {
					v, err := q.Get(ctx)
					if err == nil {
						out = append(out, v)
					}
					return ignoreClosed(err)
				}
				g.Go(get)
				doomed := g.Go(get)
				g.Go(func(context.Context) error { doomed.Cancel(nil); q.Close(); return nil })
				return nil
			})
			for v, ok := q.TryGet(); ok; v, ok = q.TryGet() {
				out = append(out, v)
			}
			slices.Sort(in)
			slices.Sort(out)
			if err != nil || !slices.Equal(in, out) {
				t.Errorf("Group returned %v; put %v, got %v", err, in, out)
			}
		})
	}
}

func ignoreClosed(err error) error {
	if errors.Is(err, rondo.ErrQueueClosed) {
		return nil
	}
	return err
}

func TestQueueCloseAndAbort(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		q := rondo.NewQueue[int](2)
		if !q.TryPut(1) || !q.TryPut(2) || q.TryPut(3) {
			t.Error("TryPut does not keep to the limit")
		}
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			putter := g.Go(func(ctx context.Context) error { return ignoreClosed(q.Put(ctx, 3)) })
			if err := rondo.Sleep(g, time.Second); err != nil {
				return err
			}
			q.Close()
			q.Close()
			return putter.Wait(g)
		})
		if err != nil {
			t.Error(err)
		}
		if err := q.Put(ctx, 4); err != rondo.ErrQueueClosed || q.TryPut(4) {
			t.Errorf("Put into a closed queue: %v", err)
		}
		for want := 1; want <= 2; want++ {
			if v, err := q.Get(ctx); v != want || err != nil {
				t.Errorf("Get of what is left: %d, %v", v, err)
			}
			q.TaskDone()
		}
		if _, err := q.Get(ctx); err != rondo.ErrQueueClosed {
			t.Errorf("Get from an empty closed queue: %v", err)
		}
		if err := q.Join(ctx); err != nil {
			t.Error(err)
		}

		a := rondo.NewQueue[int](0)
		for i := range 3 {
			a.TryPut(i)
		}
		_, _ = a.TryGet()
		err = rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error { return a.Join(ctx) })
			if err := rondo.Sleep(g, time.Second); err != nil {
				return err
			}
			a.Abort()
			a.TaskDone()
			return nil
		})
		if _, ok := a.TryGet(); err != nil || ok {
			t.Errorf("after Abort: %v, a value is left: %v", err, ok)
		}
	})
}

// TestMutexExcludes: in every order, one task at a time holds the Mutex, and a
// cancelled waiter does not take it along.
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
			t.Errorf("Group returned %v, %d tasks came in, and the Mutex is held after all", err, entered)
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

func TestEvent(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		var e rondo.Event
		woken := 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 2 {
				g.Go(func(ctx context.Context) error {
					err := e.Wait(ctx)
					woken++
					return err
				})
			}
			if err := rondo.Sleep(g, time.Second); err != nil {
				return err
			}
			// Both are woken although the flag is taken back at once.
			e.Set()
			e.Clear()
			return nil
		})
		if err != nil || woken != 2 || e.IsSet() {
			t.Errorf("Group returned %v, %d woken", err, woken)
		}
	})
}
