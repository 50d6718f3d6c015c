package kerneltest

// This file holds that the objects tasks wait for allocate nothing in use, with
// and without a wait.

import (
	"context"
	"testing"

	"github.com/rondo-go/rondo"
)

// free fails t if fn, which is called in a task, allocates more than want times.
func free(t *testing.T, what string, want float64, fn func()) {
	t.Helper()
	for range 20 {
		fn() // rings and lists grow to their size
	}
	if n := testing.AllocsPerRun(200, fn); n > want {
		t.Errorf("%s: %v allocations, want %v", what, n, want)
	}
}

// must is for the calls of a test that cannot fail.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func TestUncontendedAllocatesNothing(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var (
			m  rondo.Mutex
			rw rondo.RWMutex
			e  rondo.Event
			s  = rondo.NewSemaphore(1)
			c  = rondo.Cond{L: &m}
			q  = rondo.NewQueue[int](1)
			st = rondo.NewStack[int](1)
			pq = rondo.NewPriorityQueue(1, less)
		)
		free(t, "Mutex", 0, func() { must(m.Lock(ctx)); m.Unlock() })
		free(t, "RWMutex", 0, func() { must(rw.Lock(ctx)); rw.Unlock(); must(rw.RLock(ctx)); rw.RUnlock() })
		free(t, "Event", 0, func() { e.Set(); must(e.Wait(ctx)); e.Clear() })
		free(t, "Semaphore", 0, func() { must(s.Acquire(ctx)); s.Release() })
		free(t, "Cond", 0, func() { c.Signal(); c.Broadcast() })
		for _, q := range []*rondo.Queue[int]{q, st, pq} {
			free(t, "Queue", 0, func() {
				must(q.Put(ctx, 1))
				_, err := q.Get(ctx)
				must(err)
				q.TaskDone()
			})
		}
		free(t, "Future", 1, func() { // the Future itself
			f := rondo.NewFuture[int](ctx)
			f.Set(1)
			_, err := f.Wait(ctx)
			must(err)
		})
		return nil
	})
}

// TestContendedAllocatesNothing has tasks that do the same over and over beside
// the one that is measured, so that each call waits.
func TestContendedAllocatesNothing(t *testing.T) {
	run(t, func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			defer g.Cancel(nil)
			beside := func(n int, fn func(ctx context.Context)) {
				for range n {
					g.Go(func(ctx context.Context) error {
						for ctx.Err() == nil {
							fn(ctx)
						}
						return nil
					})
				}
			}
			var m, cm rondo.Mutex
			lock := func(ctx context.Context) {
				if m.Lock(ctx) == nil {
					_ = rondo.Yield(ctx)
					m.Unlock()
				}
			}
			beside(2, lock)
			free(t, "Mutex", 0, func() { lock(g) })

			var rw rondo.RWMutex
			write := func(ctx context.Context) {
				if rw.Lock(ctx) == nil {
					_ = rondo.Yield(ctx)
					rw.Unlock()
				}
			}
			read := func(ctx context.Context) {
				if rw.RLock(ctx) == nil {
					_ = rondo.Yield(ctx)
					rw.RUnlock()
				}
			}
			beside(2, write)
			beside(2, read)
			free(t, "RWMutex", 0, func() { write(g); read(g) })

			s := rondo.NewSemaphore(1)
			acquire := func(ctx context.Context) {
				if s.Acquire(ctx) == nil {
					_ = rondo.Yield(ctx)
					s.Release()
				}
			}
			beside(2, acquire)
			free(t, "Semaphore", 0, func() { acquire(g) })

			c := rondo.Cond{L: &cm}
			beside(1, func(ctx context.Context) { c.Signal(); _ = rondo.Yield(ctx) })
			free(t, "Cond", 0, func() { must(cm.Lock(g)); must(c.Wait(g)); cm.Unlock() })

			var e rondo.Event
			beside(1, func(ctx context.Context) { e.Set(); e.Clear(); _ = rondo.Yield(ctx) })
			free(t, "Event", 0, func() { must(e.Wait(g)) })

			for _, q := range []*rondo.Queue[int]{rondo.NewQueue[int](1), rondo.NewStack[int](1), rondo.NewPriorityQueue(1, less)} {
				beside(1, func(ctx context.Context) { _ = q.Put(ctx, 1) })
				free(t, "Queue", 0, func() {
					_, err := q.Get(g)
					must(err)
				})
			}

			var f *rondo.Future[int]
			beside(1, func(ctx context.Context) {
				if f != nil {
					f.Set(1)
				}
				_ = rondo.Yield(ctx)
			})
			free(t, "Future", 1, func() { // the Future itself
				f = rondo.NewFuture[int](g)
				_, err := f.Wait(g)
				must(err)
			})
			return nil
		})
	})
}
