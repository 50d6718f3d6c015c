package conformance

// The tests of conformance of the locks and of all else that tasks wait for each
// other at. Each is named for its number in the list.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// later starts fn in a task and lets it go as far as it can.
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

// ended fails t if one of tasks does not end as it should.
func ended(t testing.TB, ctx context.Context, want error, tasks ...*rondo.Task) {
	t.Helper()
	for _, task := range tasks {
		if err := task.Wait(ctx); !errors.Is(err, want) {
			t.Errorf("%s ended with %v, want %v", task.Name(), err, want)
		}
	}
}

// TestC150LockFIFO: a Lock that is released goes to the task that has waited
// longest, and not to one that comes at that moment.
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
			t.Error(order)
		}
	})
}

// TestC151LockCancelRace: the first in the line is cancelled at the moment of
// the release. Whether it was before or after, the lock is not lost.
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
				t.Error("somebody came in while the lock was held")
			}
		})
		_ = first.Wait(ctx)
		ended(t, ctx, nil, second)
		if (first.Err() == nil) != (got == 2) || !m.TryLock() {
			t.Error("the first ended with", first.Err(), "and", got, "came in")
		}
	})
}

// TestC152UnlockOfUnlocked: it is the caller's mistake, so it panics.
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

// TestC153EventSetThenClear: all that waited at the Set go on, although the flag
// is taken back at once; who comes later waits.
func TestC153EventSetThenClear(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		var e rondo.Event
		a, b := later(t, ctx, e.Wait), later(t, ctx, e.Wait)
		e.Set()
		e.Clear()
		c := later(t, ctx, e.Wait)
		ended(t, ctx, nil, a, b)
		if c.Done() {
			t.Error("a task that came after Clear went on")
		}
		c.Cancel(errStop)
		ended(t, ctx, errStop, c)
	})
}

// TestC154CondCancelled: a cancelled Wait holds the lock before its error shows,
// though it has to wait for it.
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

// TestC155CondSignalIsNotLost: a Signal to a task that is cancelled at the same
// moment reaches somebody: that task, or the next.
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
			t.Error(woken, "tasks were woken by one Signal")
		}
		c.Signal()
		_, _ = first.Wait(ctx), second.Wait(ctx)
	})
}

// TestC156CondWithoutTheLock: Wait panics. Signal and Broadcast do not need the
// lock, so that callbacks may call them.
func TestC156CondWithoutTheLock(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
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

// TestC157SemaphoreFIFO: permits go to tasks in their order, and a newcomer does
// not overtake one that was given a permit and has not run since.
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
			t.Error("two have the one permit")
		}
		s.Release()
		ended(t, ctx, nil, b)
	})
}

// TestC158SemaphoreIsBounded: every Semaphore is, as asyncio's BoundedSemaphore.
func TestC158SemaphoreIsBounded(t *testing.T) {
	s := rondo.NewSemaphore(2)
	panics(t, "Release of a Semaphore", s.Release)
	_ = s.TryAcquire()
	s.Release()
	panics(t, "Release of a Semaphore", s.Release)
}

// TestC159Barrier: three tasks are let go together, with an index each, and the
// Barrier serves again.
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
				t.Error("let go before the third")
			}
			ended(t, ctx, nil, rondo.Go(ctx, wait), x, y)
			slices.Sort(indices)
			if !slices.Equal(indices, []int{0, 1, 2}) {
				t.Error(indices)
			}
		}
	})
}

// TestC160BarrierBroken: Abort and Reset end the waits, and only Reset mends. A
// task that comes while others set off belongs to the next round.
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
			t.Error("the last to come waited:", err)
		}
		c := rondo.Go(ctx, wait)
		b.Abort() // too late for those that were let go
		ended(t, ctx, nil, a)
		ended(t, ctx, rondo.ErrBrokenBarrier, c)
	})
}

// TestC226LimitRaised: at a limit of 0 nobody gets in; when it is raised the
// tasks that wait do, in their order. Who acquires twice has two permits, since
// permits belong to nobody.
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
				t.Errorf("with %d permits %v came in, want %v", n, got, want)
			}
		}
		s.Resize(1) // nobody loses what it has
		for range 3 {
			s.Release()
		}
		ended(t, ctx, nil, tasks...)
		s.Release()
		return nil
	})
}
