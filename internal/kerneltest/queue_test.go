package kerneltest_test

import (
	"context"
	"errors"
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
							t.Errorf("there are %d values in a Queue of %d", q.Len(), limit)
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
				t.Errorf("max %d: Group returned %v; the values are %v", limit, err, got)
			}
		}
	})
}

// TestQueueLosesNothing: in every order of two Puts, two Gets of which one is
// cancelled, and Close, each value that Put accepted is got once or is still
// there.
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
			t.Error("TryPut does not keep the limit")
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
			t.Errorf("Put into a closed Queue returned %v", err)
		}
		for want := 1; want <= 2; want++ {
			if v, err := q.Get(ctx); v != want || err != nil {
				t.Errorf("Get of what is left returned %d, %v", v, err)
			}
			q.TaskDone()
		}
		if _, err := q.Get(ctx); err != rondo.ErrQueueClosed {
			t.Errorf("Get from an empty closed Queue returned %v", err)
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
			t.Errorf("Group returned %v; after Abort a value is left: %v", err, ok)
		}
	})
}

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
