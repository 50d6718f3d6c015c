package rondo

// The waits for time: Sleep and SleepUntil, Every, and Yield, which waits for a turn; and
// WaitCanceled, which only a cancellation ends. Now and Check do not wait, and Checkpoint
// does so only to be fair.

import (
	"context"
	"iter"
	"time"
)

// Sleep suspends the task for d at least, and returns nil then. If ctx is
// cancelled first it returns the cause. With d <= 0 it is Yield.
func Sleep(ctx context.Context, d time.Duration) error {
	s, t, err := enter(ctx)
	if err != nil {
		return err
	}
	if d <= 0 {
		t.yield()
		return nil
	}
	s.loop.timers.Set(s.loop.after(d), t.worker, nil)
	return t.park(s, ctx, Reason{What: "sleep"})
}

// SleepUntil is Sleep until the given time on the loop's clock; if that time has passed, it is
// Yield.
func SleepUntil(ctx context.Context, t time.Time) error {
	s, me, err := enter(ctx)
	if err != nil {
		return err
	}
	at := s.loop.driver.Instant(t)
	if at <= s.loop.driver.Now() {
		me.yield()
		return nil
	}
	s.loop.timers.Set(at, me.worker, nil)
	return me.park(s, ctx, Reason{What: "sleep"})
}

// WaitCanceled suspends the task until ctx is cancelled and returns the cause. It is
// what <-ctx.Done() is to a goroutine.
func WaitCanceled(ctx context.Context) error {
	var never WaitList
	return never.Park(ctx, Reason{What: "cancellation"})
}

// WaitCancelled is WaitCanceled.
//
// Deprecated: use WaitCanceled, which is spelled as context.Canceled is.
func WaitCancelled(ctx context.Context) error { return WaitCanceled(ctx) }

// Yield lets every other task and callback that is in the queue run once before it returns, and
// if the loop asks for events then, also those that it finds. That need not be every task: of
// many that have not started only the first are in the queue, and in a simulation the seed chooses
// which run, perhaps none. To be certain that something has happened, wait for it. If ctx is
// cancelled Yield returns the cause and does not suspend the task.
func Yield(ctx context.Context) error {
	s := usual(ctx)
	if s == nil {
		_, t, err := enter(ctx)
		if err == nil {
			t.yield()
		}
		return err
	}
	l, t := s.loop, s.host
	if l.queue.Len() == 0 && l.alone() {
		l.steps++
		l.stats.Turns++
		t.worker.spent = 0
		return nil
	}
	at := l.next(t, true)
	if at == nil {
		l.putBack(t)
		at = l.depart(t)
	}
	if at != nil { // swap, inlined
		if at.inner = !at.inner; at.inner {
			at.next()
		} else {
			at.yield(unit{})
		}
	}
	l.arrive(t)
	return nil
}

// Now reads the loop's clock: the time of day, or in a simulation the time that
// is simulated. It never suspends. It panics if ctx does not belong to a loop.
func Now(ctx context.Context) time.Time {
	s := mustHaveLoop(ctx)
	return s.loop.driver.Time(s.loop.driver.Now())
}

// Every ranges over the times d, 2d, 3d from now, suspending the task until each
// has come, for ever or until ctx is cancelled. A body that takes longer than d
// makes it skip the times that it missed. Every panics if d is not positive, and
// the range if ctx belongs to no loop.
//
//go:noinline
func Every(ctx context.Context, d time.Duration) iter.Seq[time.Time] {
	if d <= 0 {
		panic("rondo: Every with a duration that is not positive: use one above 0")
	}
	return func(yield func(time.Time) bool) {
		next := Now(ctx).Add(d)
		for {
			if err := SleepUntil(ctx, next); err != nil {
				mustNotBeMisuse(ctx, err)
				return
			}
			if !yield(next) {
				return
			}
			if late := Now(ctx).Sub(next); late > d {
				next = next.Add((late - 1) / d * d)
			}
			next = next.Add(d)
		}
	}
}

// Check is a cancel point that never suspends: it returns the cause if ctx is
// cancelled, and nil otherwise. Long computations call it.
func Check(ctx context.Context) error {
	_, _, err := enter(ctx)
	return err
}

// Checkpoint is like Check, but if the loop has been busy for long, it suspends the task to let
// others run first: other tasks, timers, sockets, and what goroutines have posted. Call it in a
// function that takes a ctx and finds what it wants at once, as Lock of a free Mutex does; then
// a loop of such calls does not starve the rest of the program. Look for it again after
// Checkpoint, because other tasks may have taken it.
//
// Busy for long means 100 µs since the loop last looked at its timers and sockets. In a
// simulation, whose clock stands still meanwhile, it means 128 operations since the task was
// resumed. Every function of Rondo that takes a ctx and may suspend counts as an operation.
//
// It is what trio calls a checkpoint.
func Checkpoint(ctx context.Context) error {
	if s := usual(ctx); s != nil && s.host.worker.affords(s.loop, 1) {
		return nil
	}
	_, _, err := checkpointSlowly(ctx)
	return err
}
