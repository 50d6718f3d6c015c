package kerneltest_test

// The objects that tasks wait for allocate nothing in use, with
// and without a wait.

import (
	"context"
	"errors"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/poll"
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

// must panics with an error that a test cannot have.
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
		)
		free(t, "Mutex", 0, func() { must(m.Lock(ctx)); m.Unlock() })
		free(t, "RWMutex", 0, func() { must(rw.Lock(ctx)); rw.Unlock(); must(rw.RLock(ctx)); rw.RUnlock() })
		free(t, "Event", 0, func() { e.Set(); must(e.Wait(ctx)); e.Clear() })
		free(t, "Semaphore", 0, func() { must(s.Acquire(ctx)); s.Release() })
		free(t, "Cond", 0, func() { c.Signal(); c.Broadcast() })
		for name, q := range queuesOfOne() {
			free(t, name, 0, func() {
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

// TestValueAllocatesNothing: a scope looks up a value as a context of package context does.
func TestValueAllocatesNothing(t *testing.T) {
	type key struct{}
	run(t, func(ctx context.Context) error {
		return rondo.Group(context.WithValue(ctx, key{}, 1), func(g *rondo.Scope) error {
			return rondo.Group(g, func(ctx *rondo.Scope) error {
				look := func() {
					if ctx.Value(key{}) != 1 || ctx.Value("other") != nil {
						t.Error("a wrong value")
					}
				}
				free(t, "Value", 0, look)
				_ = ctx.Done() // a context of package context stands for the scope from now on
				free(t, "Value after Done", 0, look)
				ctx.Cancel(nil)
				free(t, "Value after Cancel", 0, look)
				return nil
			})
		})
	})
}

// A stoppedClock is a real driver whose clock stands still. So no task ever has run for long
// enough to give others a turn, however slow the machine is.
type stoppedClock struct{ driver.Driver }

func (stoppedClock) Now() int64 { return 1 }

// TestTaskAllocations: Go makes one object, the Task, and Async one, the Future with the
// Task. A Pull that ends before the loop asks its driver makes five: what next and stop
// share, the sequence's side with its task, and the functions next, stop and yield. If the
// loop asks first, the collector watches the Pull, which takes more of them.
func TestTaskAllocations(t *testing.T) {
	stopped := driver.With(t.Context(), func() (driver.Driver, error) {
		d, err := poll.Open()
		return stoppedClock{d}, err
	})
	must(rondo.Run(stopped, func(ctx context.Context) error {
		free(t, "Go", 1, func() {
			must(rondo.Go(ctx, func(context.Context) error { return nil }).Wait(ctx))
		})
		free(t, "Async", 1, func() {
			_, err := rondo.Async(ctx, func(context.Context) (int, error) { return 1, nil }).Wait(ctx)
			must(err)
		})
		next, stop := rondo.Pull(ctx, func(yield func(int) bool) {
			for yield(1) {
			}
		})
		defer stop()
		free(t, "next", 0, func() { next() })
		free(t, "Pull", 5, func() {
			next, stop := rondo.Pull(ctx, func(yield func(int) bool) { _ = yield(1) && yield(2) })
			next()
			stop()
		})
		return nil
	}))
}

// queuesOfOne returns a queue of each kind, with room for one value.
func queuesOfOne() map[string]*rondo.Queue[int] {
	return map[string]*rondo.Queue[int]{
		"Queue":         rondo.NewQueue[int](1),
		"Stack":         rondo.NewStack[int](1),
		"PriorityQueue": rondo.NewPriorityQueue(1, less),
	}
}

func less(a, b int) bool { return a < b }

// crowded runs body in a group. What body hands to others is called over and
// over by so many tasks, so that the calls of body itself have to wait.
func crowded(t *testing.T, body func(ctx context.Context, others func(n int, fn func(ctx context.Context)))) {
	run(t, func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			defer g.Cancel(nil)
			body(g, func(n int, fn func(ctx context.Context)) {
				for range n {
					g.Go(func(ctx context.Context) error {
						for ctx.Err() == nil {
							fn(ctx)
						}
						return nil
					})
				}
			})
			return nil
		})
	})
}

// hold returns a function that holds a lock for one turn.
func hold(lock func(ctx context.Context) error, unlock func()) func(ctx context.Context) {
	return func(ctx context.Context) {
		if lock(ctx) == nil {
			_ = rondo.Yield(ctx)
			unlock()
		}
	}
}

func TestContendedLocksAllocateNothing(t *testing.T) {
	var m rondo.Mutex
	var rw rondo.RWMutex
	s := rondo.NewSemaphore(1)
	crowded(t, func(ctx context.Context, others func(n int, fn func(ctx context.Context))) {
		lock := hold(m.Lock, m.Unlock)
		others(2, lock)
		free(t, "Mutex", 0, func() { lock(ctx) })

		write, read := hold(rw.Lock, rw.Unlock), hold(rw.RLock, rw.RUnlock)
		others(2, write)
		others(2, read)
		free(t, "RWMutex", 0, func() { write(ctx); read(ctx) })

		acquire := hold(s.Acquire, s.Release)
		others(2, acquire)
		free(t, "Semaphore", 0, func() { acquire(ctx) })
	})
}

func TestContendedWaitsAllocateNothing(t *testing.T) {
	var m rondo.Mutex
	c := rondo.Cond{L: &m}
	var e, stop rondo.Event
	crowded(t, func(ctx context.Context, others func(n int, fn func(ctx context.Context))) {
		others(1, func(ctx context.Context) { c.Signal(); _ = rondo.Yield(ctx) })
		free(t, "Cond", 0, func() { must(m.Lock(ctx)); must(c.Wait(ctx)); m.Unlock() })

		others(1, func(ctx context.Context) { e.Set(); e.Clear(); _ = rondo.Yield(ctx) })
		free(t, "Event", 0, func() { must(e.Wait(ctx)) })

		a, b := rondo.NewQueue[int](1), rondo.NewQueue[int](1)
		others(1, func(ctx context.Context) { _ = b.Put(ctx, 1) })
		var v int // outside of the calls
		free(t, "Select", 0, func() {
			_, err := rondo.Select(ctx, stop.WaitCase(), a.GetCase(&v), b.GetCase(&v), rondo.After(time.Hour))
			must(err)
		})

		for name, q := range queuesOfOne() {
			others(1, func(ctx context.Context) { _ = q.Put(ctx, 1) })
			free(t, name, 0, func() {
				_, err := q.Get(ctx)
				must(err)
			})
		}

		var f *rondo.Future[int]
		others(1, func(ctx context.Context) {
			if f != nil {
				f.Set(1)
			}
			_ = rondo.Yield(ctx)
		})
		free(t, "Future", 1, func() { // the Future itself
			f = rondo.NewFuture[int](ctx)
			_, err := f.Wait(ctx)
			must(err)
		})
	})
}

// TestStacksOfCancelled: a task that ends with the cause of its cancellation does so
// on the stack that it has. Otherwise the stacks of all tasks that are cancelled
// together would double.
func TestStacksOfCancelled(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const n = 1000
	run(t, func(ctx context.Context) error {
		begun, before := 0, 0
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			for range n {
				g.Go(func(ctx context.Context) error {
					begun++
					return rondo.Sleep(ctx, time.Hour)
				})
			}
			for begun < n {
				must(rondo.Yield(ctx))
			}
			before = stackBytes()
			g.Cancel(errors.New("enough"))
			return nil
		})
		if grown := (stackBytes() - before) / n; grown > 256 {
			t.Errorf("the stacks of tasks that were cancelled grew by %d bytes each", grown)
		}
		return nil
	})
}

// stackBytes returns the bytes of all stacks of goroutines.
func stackBytes() int {
	s := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(s)
	return int(s[0].Value.Uint64())
}
