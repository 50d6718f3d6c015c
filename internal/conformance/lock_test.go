package conformance

// Expectations of users of locks, events, conditions, semaphores and barriers.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// later starts fn in a task and returns when nothing else can run.
func later(t testing.TB, ctx context.Context, fn func(ctx context.Context) error) *rondo.Task {
	t.Helper()
	task := rondo.Go(ctx, fn)
	settled(t, ctx)
	return task
}

// settled returns when nothing else can run.
func settled(t testing.TB, ctx context.Context) {
	t.Helper()
	if err := rondo.Sleep(ctx, 1); err != nil {
		t.Fatal(err)
	}
}

// ended fails t unless each of tasks ends with want.
func ended(t testing.TB, ctx context.Context, want error, tasks ...*rondo.Task) {
	t.Helper()
	for _, task := range tasks {
		if err := task.Wait(ctx); !errors.Is(err, want) {
			t.Errorf("%s ended with %v, want %v", task.Name(), err, want)
		}
	}
}

// TestC150LockFIFO: Unlock hands a Mutex to the task that has waited longest. A
// task that calls Lock after that has to wait.
func TestC150LockFIFO(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		var m rondo.Mutex
		var order []string
		enter := func(name string) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				err := m.Lock(ctx)
				order = append(order, name)
				return errors.Join(err, rondo.Yield(ctx), rondo.Check(ctx))
			}
		}
		_ = m.TryLock()
		a, b := later(t, ctx, enter("a")), later(t, ctx, enter("b"))
		m.Unlock()
		if m.TryLock() {
			t.Error("a newcomer got the lock")
		}
		c := rondo.Go(ctx, enter("c"))
		for _, task := range []*rondo.Task{a, b, c} {
			ended(t, ctx, nil, task)
			m.Unlock()
		}
		if !slices.Equal(order, []string{"a", "b", "c"}) {
			t.Errorf("the order was %v", order)
		}
	})
}

// TestC151LockCancelRace: if the first task in the line is cancelled when the
// Mutex is unlocked, that task has the lock or the next one gets it.
func TestC151LockCancelRace(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		var m rondo.Mutex
		got := 0
		enter := func(ctx context.Context) error {
			if err := m.Lock(ctx); err != nil {
				return err
			}
			got++
			m.Unlock()
			return nil
		}
		_ = m.TryLock()
		first, second := later(t, ctx, enter), later(t, ctx, enter)
		released := false
		rondo.LoopOf(ctx).CallSoon(func() { m.Unlock(); released = true })
		rondo.LoopOf(ctx).CallSoon(func() {
			first.Cancel(errStop)
			if released {
				return // the release came first: the Lock holds
			}
			if got != 0 {
				t.Error("a task got the lock while it was held")
			}
		})
		_ = first.Wait(ctx)
		ended(t, ctx, nil, second)
		if (first.Err() == nil) != (got == 2) || !m.TryLock() {
			t.Errorf("the first task ended with %v; %d tasks got the lock", first.Err(), got)
		}
	})
}

// TestC152UnlockOfUnlocked: Unlock of a Mutex or RWMutex that is not locked
// panics.
func TestC152UnlockOfUnlocked(t *testing.T) {
	panics(t, "Unlock of unlocked Mutex", func() { new(rondo.Mutex).Unlock() })
	panics(t, "Unlock of unlocked RWMutex", func() { new(rondo.RWMutex).Unlock() })
	panics(t, "RUnlock of an RWMutex", func() { new(rondo.RWMutex).RUnlock() })
	panics(t, "Unlock of unlocked RWMutex", func() {
		var m rondo.RWMutex
		m.TryRLock()
		m.Unlock()
	})
	panics(t, "RUnlock of an RWMutex", func() {
		var m rondo.RWMutex
		m.TryLock()
		m.RUnlock()
	})
}

// TestC153EventSetThenClear: Event.Set wakes all tasks that wait, also if Clear
// follows at once. Tasks that come later wait.
func TestC153EventSetThenClear(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		var e rondo.Event
		a, b := later(t, ctx, e.Wait), later(t, ctx, e.Wait)
		e.Set()
		e.Clear()
		c := later(t, ctx, e.Wait)
		ended(t, ctx, nil, a, b)
		if c.Done() {
			t.Error("a task that came after Clear did not wait")
		}
		c.Cancel(errStop)
		ended(t, ctx, errStop, c)
	})
}

// TestC154CondCancelled: a Cond.Wait that is cancelled returns when it holds the
// lock again.
func TestC154CondCancelled(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		var m rondo.Mutex
		c := rondo.Cond{L: &m}
		returned := false
		waiting := later(t, ctx, func(ctx context.Context) error {
			if err := m.Lock(ctx); err != nil {
				return err
			}
			err := c.Wait(ctx)
			returned = true
			m.Unlock() // panics if it is not held
			return err
		})
		_ = m.TryLock()
		waiting.Cancel(errStop)
		settled(t, ctx)
		if returned {
			t.Error("Wait returned without the lock")
		}
		m.Unlock()
		ended(t, ctx, errStop, waiting)
		if !m.TryLock() {
			t.Error("the lock is held at the end")
		}
	})
}

// TestC155CondSignalIsNotLost: if a task is cancelled when it is signalled, it or
// the next task wakes, and only one.
func TestC155CondSignalIsNotLost(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		var m rondo.Mutex
		c := rondo.Cond{L: &m}
		woken := 0
		wait := func(ctx context.Context) error {
			_ = m.Lock(ctx)
			defer m.Unlock()
			err := c.Wait(ctx)
			if err == nil {
				woken++
			}
			return err
		}
		first, second := later(t, ctx, wait), later(t, ctx, wait)
		rondo.LoopOf(ctx).CallSoon(func() { c.Signal() })
		rondo.LoopOf(ctx).CallSoon(func() { first.Cancel(errStop) })
		settled(t, ctx)
		if woken != 1 {
			t.Errorf("one Signal woke %d tasks", woken)
		}
		c.Signal()
		_, _ = first.Wait(ctx), second.Wait(ctx)
	})
}

// TestC156CondWithoutTheLock: Cond.Wait without the lock panics. Signal and
// Broadcast do not need the lock, so callbacks can call them.
//
// asyncio's notify needs the lock.
func TestC156CondWithoutTheLock(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		var m rondo.Mutex
		c := rondo.Cond{L: &m}
		panics(t, "Cond.Wait with L unlocked", func() { _ = c.Wait(ctx) })
		waiting := later(t, ctx, func(ctx context.Context) error {
			_ = m.Lock(ctx)
			defer m.Unlock()
			return c.Wait(ctx)
		})
		rondo.LoopOf(ctx).CallSoon(c.Signal)
		ended(t, ctx, nil, waiting)
	})
}

// TestC157SemaphoreFIFO: permits go to tasks in the order in which they came. A
// newcomer does not overtake a task that was given a permit and has not run
// since.
func TestC157SemaphoreFIFO(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		s := rondo.NewSemaphore(1)
		_ = s.TryAcquire()
		a, b := later(t, ctx, s.Acquire), later(t, ctx, s.Acquire)
		s.Release()
		if s.TryAcquire() {
			t.Error("a newcomer got the permit")
		}
		ended(t, ctx, nil, a)
		if b.Done() {
			t.Error("two tasks have the one permit")
		}
		s.Release()
		ended(t, ctx, nil, b)
	})
}

// TestC158SemaphoreIsBounded: Release without an Acquire panics. Every Semaphore
// is bounded.
func TestC158SemaphoreIsBounded(t *testing.T) {
	s := rondo.NewSemaphore(2)
	panics(t, "Release of a Semaphore", s.Release)
	_ = s.TryAcquire()
	s.Release()
	panics(t, "Release of a Semaphore", s.Release)
}

// TestC159Barrier: a Barrier for three lets three tasks go on together, with the
// indices 0, 1 and 2, and can be used again.
func TestC159Barrier(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		b := rondo.NewBarrier(3)
		for range 3 {
			var indices []int
			wait := func(ctx context.Context) error {
				i, err := b.Wait(ctx)
				indices = append(indices, i)
				return err
			}
			x, y := later(t, ctx, wait), later(t, ctx, wait)
			if len(indices) > 0 {
				t.Error("a wait ended before the third task came")
			}
			ended(t, ctx, nil, rondo.Go(ctx, wait), x, y)
			slices.Sort(indices)
			if !slices.Equal(indices, []int{0, 1, 2}) {
				t.Errorf("the indices are %v", indices)
			}
		}
	})
}

// TestC160BarrierBroken: Abort and Reset of a Barrier fail the waits, and later
// waits fail until Reset is called. Tasks that were let go already are not
// affected.
func TestC160BarrierBroken(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		b := rondo.NewBarrier(2)
		wait := func(ctx context.Context) error { _, err := b.Wait(ctx); return err }
		a := later(t, ctx, wait)
		b.Abort()
		ended(t, ctx, rondo.ErrBrokenBarrier, a, rondo.Go(ctx, wait))
		b.Reset()
		a = later(t, ctx, wait)
		b.Reset()
		ended(t, ctx, rondo.ErrBrokenBarrier, a)
		a = later(t, ctx, wait)
		if _, err := b.Wait(ctx); err != nil || a.Done() {
			t.Errorf("the last task waited; Wait returned %v", err)
		}
		c := rondo.Go(ctx, wait)
		b.Abort() // too late for the tasks that were let go
		ended(t, ctx, nil, a)
		ended(t, ctx, rondo.ErrBrokenBarrier, c)
	})
}

// TestC226LimitRaised: Resize of a Semaphore lets waiting tasks in, in their
// order. Lowering the limit takes no permit from anyone.
//
// trio's CapacityLimiter knows who holds what and refuses a second acquire; here
// permits have no owner.
func TestC226LimitRaised(t *testing.T) {
	run(t, func(ctx context.Context) error {
		s := rondo.NewSemaphore(0)
		var order []int
		var tasks []*rondo.Task
		for i := range 4 {
			tasks = append(tasks, later(t, ctx, func(ctx context.Context) error {
				err := s.Acquire(ctx)
				order = append(order, i)
				return err
			}))
		}
		for n, want := range []string{"[]", "[0]", "[0 1]", "[0 1 2]"} {
			s.Resize(n)
			settled(t, ctx)
			if got := fmt.Sprint(order); got != want {
				t.Errorf("with %d permits tasks %v have one, want %v", n, got, want)
			}
		}
		s.Resize(1) // takes no permit from anyone
		for range 3 {
			s.Release()
		}
		ended(t, ctx, nil, tasks...)
		s.Release()
		return nil
	})
}
