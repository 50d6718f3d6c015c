package kerneltest_test

// One law for all waits: one that was satisfied before its scope was cancelled
// returns what it waited for; one that was not returns the cause.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// A waiting is a wait that has begun or is about to begin, and what satisfies it.
type waiting struct {
	wait    func(ctx context.Context) error
	satisfy func(ctx context.Context)
}

// waitings make every wait there is, by the name of the call.
var waitings = map[string]func(ctx context.Context) waiting{
	"AsCompleted": func(ctx context.Context) waiting {
		a, b := rondo.NewFuture[int](ctx), rondo.NewFuture[int](ctx)
		return waiting{func(ctx context.Context) error {
			for range rondo.AsCompleted(ctx, a, b) {
				return nil
			}
			return context.Cause(ctx)
		}, func(context.Context) { b.Set(1) }}
	},
	"Barrier.Wait": func(ctx context.Context) waiting {
		b := rondo.NewBarrier(2)
		return waiting{func(ctx context.Context) error { _, err := b.Wait(ctx); return err },
			func(ctx context.Context) { _, _ = b.Wait(ctx) }}
	},
	"Cond.Wait": func(ctx context.Context) waiting {
		c := rondo.Cond{L: new(rondo.Mutex)}
		return waiting{func(ctx context.Context) error {
			if err := c.L.Lock(ctx); err != nil {
				return err
			}
			defer c.L.Unlock()
			return c.Wait(ctx)
		}, func(context.Context) { c.Signal() }}
	},
	"Event.Wait": func(context.Context) waiting {
		var e rondo.Event
		return waiting{e.Wait, func(context.Context) { e.Set(); e.Clear() }}
	},
	"Every": func(context.Context) waiting {
		return waiting{func(ctx context.Context) error {
			for range rondo.Every(ctx, time.Second) {
				return nil
			}
			return context.Cause(ctx)
		}, second}
	},
	"Future.Wait": func(ctx context.Context) waiting {
		f := rondo.NewFuture[int](ctx)
		return waiting{func(ctx context.Context) error { _, err := f.Wait(ctx); return err }, func(context.Context) { f.Set(1) }}
	},
	"Mutex.Lock": func(context.Context) waiting {
		var m rondo.Mutex
		m.TryLock()
		return waiting{m.Lock, func(context.Context) { m.Unlock() }}
	},
	"Queue.All": func(context.Context) waiting {
		q := rondo.NewQueue[int](0)
		return waiting{func(ctx context.Context) error {
			for range q.All(ctx) {
				return nil
			}
			return context.Cause(ctx)
		}, func(context.Context) { q.TryPut(1) }}
	},
	"Queue.Get": func(context.Context) waiting {
		q := rondo.NewQueue[int](0)
		return waiting{func(ctx context.Context) error { _, err := q.Get(ctx); return err }, func(context.Context) { q.TryPut(1) }}
	},
	"Queue.Join": func(context.Context) waiting {
		q := full()
		// Zero is passing: one more value comes in the same step.
		return waiting{q.Join, func(context.Context) { q.TryGet(); q.TaskDone(); q.TryPut(1) }}
	},
	"Queue.Put": func(context.Context) waiting {
		q := full()
		return waiting{func(ctx context.Context) error { return q.Put(ctx, 1) }, func(context.Context) { q.TryGet() }}
	},
	"RWMutex.Lock": func(context.Context) waiting {
		var m rondo.RWMutex
		m.TryRLock()
		return waiting{m.Lock, func(context.Context) { m.RUnlock() }}
	},
	"RWMutex.RLock": func(context.Context) waiting {
		var m rondo.RWMutex
		m.TryLock()
		return waiting{m.RLock, func(context.Context) { m.Unlock() }}
	},
	"RoundRobin.Select": func(context.Context) waiting {
		var e rondo.Event
		var turns rondo.RoundRobin
		return waiting{func(ctx context.Context) error {
			_, err := turns.Select(ctx, rondo.After(time.Hour), e.WaitCase())
			return err
		},
			func(context.Context) { e.Set(); e.Clear() }}
	},
	"Scope.Start": func(ctx context.Context) waiting {
		// The task that is started calls started as soon as it runs again.
		var gate rondo.Event
		begun := false
		return waiting{func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				defer g.Cancel(nil)
				return g.Start(ctx, func(ctx context.Context, started func()) error {
					err := rondo.Shield(ctx, gate.Wait)
					if ctx.Err() == nil {
						started()
					}
					begun = true
					return err
				})
			})
		}, func(ctx context.Context) {
			gate.Set()
			until(ctx, func() bool { return begun })
		}}
	},
	"Select": func(context.Context) waiting {
		q := rondo.NewQueue[int](0)
		return waiting{func(ctx context.Context) error {
			_, err := rondo.Select(ctx, rondo.After(time.Hour), q.GetCase(new(int)))
			return err
		},
			func(context.Context) { q.TryPut(1) }}
	},
	"Semaphore.Acquire": func(context.Context) waiting {
		s := rondo.NewSemaphore(0)
		return waiting{s.Acquire, func(context.Context) { s.Resize(1) }}
	},
	"Semaphore.AcquireN": func(context.Context) waiting {
		s := rondo.NewSemaphore(1)
		return waiting{func(ctx context.Context) error { return s.AcquireN(ctx, 2) }, func(context.Context) { s.Resize(2) }}
	},
	"Sleep": func(context.Context) waiting {
		return waiting{func(ctx context.Context) error { return rondo.Sleep(ctx, time.Second) }, second}
	},
	"SleepUntil": func(ctx context.Context) waiting {
		at := rondo.Now(ctx).Add(time.Second)
		return waiting{func(ctx context.Context) error { return rondo.SleepUntil(ctx, at) }, second}
	},
	"Task.Wait": func(ctx context.Context) waiting {
		task, end := endingTask(ctx)
		return waiting{task.Wait, end}
	},
	"WaitAny": func(ctx context.Context) waiting {
		task, end := endingTask(ctx)
		other, _ := endingTask(ctx)
		return waiting{func(ctx context.Context) error { _, err := rondo.WaitAny(ctx, other, task); return err }, end}
	},
	"WaitList.Park": func(context.Context) waiting {
		var list rondo.WaitList
		return waiting{func(ctx context.Context) error { return list.Park(ctx, rondo.Reason{What: "test"}) },
			func(context.Context) { list.Wake() }}
	},
}

// endingTask returns a task, and what ends it.
func endingTask(ctx context.Context) (task *rondo.Task, end func(ctx context.Context)) {
	var gate rondo.Event
	task = rondo.Go(ctx, gate.Wait)
	return task, func(ctx context.Context) {
		gate.Set()
		until(ctx, task.Done)
	}
}

func until(ctx context.Context, is func() bool) {
	for !is() {
		_ = rondo.Yield(ctx)
	}
}

func second(ctx context.Context) { _ = rondo.Sleep(ctx, time.Second) }

// notWaits are the calls that take a ctx and are not in the table: they do not
// wait for one thing that satisfies them, or for a goroutine that has the last word.
var notWaits = []string{
	"Async", "Check", "Checkpoint", "Contain", "Current", "Deadline", "Gather", "Go", "Group", "LoopOf", "Map", "NewFuture", "Now", "Offload", "OffloadFunc", "Pull",
	"Race", "Receive", "Run", "Runner.Run", "Settle", "Shield", "Tasks", "TimedOut", "Timeout", "WaitCanceled", "WaitCancelled", "Yield",
}

// TestSatisfiedBeforeTheCancellation: whichever comes first in one step, what
// satisfies the wait or the cancellation, decides what the wait returns.
func TestSatisfiedBeforeTheCancellation(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(waitings)) {
		for _, first := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " satisfied first: ", first), func(t *testing.T) {
				sim.Test(t, func(ctx context.Context) { testSatisfied(t, ctx, waitings[name](ctx), first) })
			})
		}
	}
}

func testSatisfied(t *testing.T, ctx context.Context, w waiting, first bool) {
	result := errors.New("has not returned")
	err := rondo.Group(ctx, func(all *rondo.Scope) error {
		var scope *rondo.Scope
		all.Go(func(ctx context.Context) error {
			_ = rondo.Group(ctx, func(s *rondo.Scope) error {
				scope = s
				result = w.wait(s)
				return nil
			})
			return nil
		})
		until(all, func() bool { return scope != nil })
		_ = rondo.Sleep(all, 0)
		if first {
			w.satisfy(all)
		}
		scope.Cancel(errStop)
		if !first {
			// A Barrier may wait in vain now.
			_ = rondo.Timeout(all, time.Minute, func(ctx context.Context) error { w.satisfy(ctx); return nil })
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if want := map[bool]error{true: nil, false: errStop}[first]; result != want {
		t.Errorf("the wait returned %v, want %v", result, want)
	}
}

// TestEveryWaitIsHeld: each call that takes a ctx is in the table, or is known to
// have no place there.
func TestEveryWaitIsHeld(t *testing.T) {
	found, err := takeContext("../..")
	if err != nil {
		t.Fatal(err)
	}
	for name := range found {
		if (waitings[name] != nil) == slices.Contains(notWaits, name) {
			t.Errorf("%s must be in the table of waits or in the list of what does not wait", name)
		}
	}
}
