package kerneltest_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestCancellationIsALevel: every wait in a cancelled scope fails with the cause,
// also where it would not have to wait.
func TestCancellationIsALevel(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Cancel(errBroken)
			var m rondo.Mutex
			var set rondo.Event
			set.Set()
			q := rondo.NewQueue[int](0)
			q.TryPut(1)
			for name, wait := range map[string]func() error{
				"Yield":      func() error { return rondo.Yield(g) },
				"Sleep":      func() error { return rondo.Sleep(g, time.Hour) },
				"Sleep 0":    func() error { return rondo.Sleep(g, 0) },
				"Mutex.Lock": func() error { return m.Lock(g) },
				"Event.Wait": func() error { return set.Wait(g) },
				"Queue.Get":  func() error { _, err := q.Get(g); return err },
				"Queue.Put":  func() error { return q.Put(g, 1) },
				"Group":      func() error { return rondo.Group(g, func(*rondo.Scope) error { panic("ran") }) },
				"Timeout":    func() error { return rondo.Timeout(g, 1, func(context.Context) error { panic("ran") }) },
				"Offload": func() error {
					_, err := rondo.Offload(g, func(context.Context) (int, error) { panic("ran") })
					return err
				},
				"Check":       func() error { return rondo.Check(g) },
				"std context": func() error { return rondo.Yield(context.WithValue(g, ctxKey("k"), "v")) },
			} {
				if err := wait(); err != errBroken {
					t.Errorf("%s in a cancelled scope returned %v, want the cause", name, err)
				}
			}
			if !m.TryLock() || q.Len() != 1 {
				t.Error("a call that failed with the cause has changed something")
			}
			if g.Err() != context.Canceled || context.Cause(g) != errBroken {
				t.Errorf("Err returned %v, Cause %v", g.Err(), context.Cause(g))
			}
			return nil
		})
		if err != errBroken {
			t.Errorf("Group returned %v", err)
		}
	})
}

// TestShield: the body of a Shield is not cancelled with the scope around it.
func TestShield(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		cleaned := false
		err := rondo.Timeout(ctx, time.Second, func(ctx context.Context) error {
			defer func() {
				err := rondo.Shield(ctx, func(ctx context.Context) error {
					if ctx.Err() != nil {
						t.Errorf("the ctx of a Shield is cancelled: %v", ctx.Err())
					}
					if err := rondo.Sleep(ctx, time.Minute); err != nil {
						return err
					}
					cleaned = true
					return nil
				})
				if err != nil || rondo.Check(ctx) == nil {
					t.Errorf("Shield returned %v, Check after it %v", err, rondo.Check(ctx))
				}
			}()
			return forever(ctx)
		})
		if !errors.Is(err, context.DeadlineExceeded) || !cleaned {
			t.Errorf("Timeout returned %v; the clean-up ran: %v", err, cleaned)
		}
		// A cancellation that comes during a Shield does not reach the scopes inside
		// it either.
		cleaned = false
		err = rondo.Timeout(ctx, time.Second, func(ctx context.Context) error {
			return rondo.Shield(ctx, func(ctx context.Context) error {
				return rondo.Group(ctx, func(g *rondo.Scope) error {
					g.Go(func(ctx context.Context) error {
						err := rondo.Sleep(ctx, time.Minute)
						cleaned = err == nil
						return err
					})
					return rondo.Sleep(ctx, time.Minute)
				})
			})
		})
		if err != nil || !cleaned {
			t.Errorf("Timeout returned %v; the task in the Shield ran to its end: %v", err, cleaned)
		}
		// A scope inside a Shield can be cancelled alone.
		err = rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Timeout(ctx, time.Second, forever) })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a Timeout in a Shield returned %v", err)
		}
	})
}

// TestPanicInBodyEndsTheTasksFirst: a panic leaves a scope when the tasks of the
// scope have ended.
func TestPanicInBodyEndsTheTasksFirst(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		ended := false
		func() {
			defer func() {
				if v := recover(); v != "oops" || !ended {
					t.Errorf("recovered %v; the task has ended: %v", v, ended)
				}
			}()
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(ctx context.Context) error {
					defer func() { ended = true }()
					return forever(ctx)
				})
				if err := rondo.Yield(g); err != nil {
					return err
				}
				panic("oops")
			})
		}()
		if err := rondo.Yield(ctx); err != nil {
			t.Error(err)
		}
	})
}

// TestTieKeepsTheValue: in every order of a Put and a cancellation, a Get that
// was given the value returns it, and a Get that was cancelled first leaves it in
// the Queue.
func TestTieKeepsTheValue(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		q := rondo.NewQueue[int](0)
		got, put := 0, 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			getter := g.Go(func(ctx context.Context) error {
				if _, err := q.Get(ctx); err != nil {
					return err
				}
				got++
				return nil
			})
			g.Go(func(ctx context.Context) error { getter.Cancel(nil); return nil })
			g.Go(func(ctx context.Context) error { put++; return q.Put(ctx, 1) })
			return nil
		})
		if err != nil || got+q.Len() != put {
			t.Errorf("Group returned %v; %d put, %d got, %d left", err, put, got, q.Len())
		}
	})
}

// TestWaitUnderAnothersScope: cancelling a group ends the waits of tasks that
// wait with the group's ctx and not with their own.
func TestWaitUnderAnothersScope(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		ended := 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range 20 {
				g.Go(func(context.Context) error {
					if i%3 == 0 {
						return rondo.Sleep(g, time.Duration(i)*time.Millisecond)
					}
					if err := forever(g); err != errBroken {
						t.Errorf("the wait of task %d returned %v", i, err)
					}
					ended++
					return nil
				})
			}
			if err := rondo.Sleep(g, time.Second); err != nil {
				return err
			}
			g.Cancel(errBroken)
			return nil
		})
		if err != errBroken || ended != 13 {
			t.Errorf("Group returned %v; %d of 13 waits ended", err, ended)
		}
	})
}

// TestSuccessorsHoldNoneThatEnded: tasks that start each other with their own ctx
// hold none of those that have ended.
func TestSuccessorsHoldNoneThatEnded(t *testing.T) {
	type key struct{}
	run(t, func(ctx context.Context) error {
		const generations = 1000
		var freed atomic.Int64
		var last rondo.Event
		var start func(ctx context.Context, n int)
		start = func(ctx context.Context, n int) {
			task := rondo.Go(ctx, func(ctx context.Context) error {
				if n < generations {
					start(ctx, n+1)
					return nil
				}
				defer last.Set()
				if _, ok := ctx.Deadline(); ok || ctx.Value(key{}) != "kept" {
					t.Errorf("the last one's ctx has a deadline, or lost a value: %v", ctx.Value(key{}))
				}
				for i := 0; i < 100 && freed.Load() < generations/2; i++ {
					runtime.GC()
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
				return nil
			})
			runtime.AddCleanup(task, func(int) { freed.Add(1) }, 0)
		}
		start(context.WithValue(ctx, key{}, "kept"), 1)
		err := last.Wait(ctx)
		if n := freed.Load(); n < generations/2 {
			t.Errorf("of %d tasks that have ended %d were collected", generations, n)
		}
		return err
	})
}
