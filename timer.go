package rondo

// This file has the loop's timers and what is built on them: Sleep, the handles
// of CallLater and CallAt, Every. The timers are a heap ordered by instant, and
// by age where the instants are equal. A timer that is cancelled leaves the
// heap at once, so cancelled ones never pile up.

import (
	"context"
	"iter"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
)

// timers is the heap. Whoever set a timer keeps its place in the heap plus one,
// and 0 while it is not set.
type timers struct {
	heap []timer
	last uint64
}

// A timer is one entry of the heap. Exactly one of who and call is set: whose task,
// or which callback, is made ready when it is due.
type timer struct {
	when int64
	age  uint64
	who  *worker
	call *Handle
}

func (a *timer) before(b *timer) bool {
	return a.when < b.when || a.when == b.when && a.age < b.age
}

// moved tells whoever set the timer at place i that it is there.
func (h *timers) moved(i int) {
	if w := h.heap[i].who; w != nil {
		w.alarm = int32(i + 1)
	} else {
		h.heap[i].call.alarm = int32(i + 1)
	}
}

func (h *timers) len() int { return len(h.heap) }

// next gives the instant of the first timer, or driver.Forever.
func (h *timers) next() int64 {
	if len(h.heap) == 0 {
		return driver.Forever
	}
	return h.heap[0].when
}

func (h *timers) set(when int64, w *worker, c *Handle) {
	h.last++
	h.heap = append(h.heap, timer{when, h.last, w, c})
	h.up(len(h.heap) - 1)
}

// remove takes the timer at place i out of the heap.
func (h *timers) remove(i int) {
	if e := &h.heap[i]; e.who != nil {
		e.who.alarm = 0
	} else {
		e.call.alarm = 0
	}
	last := len(h.heap) - 1
	h.heap[i] = h.heap[last]
	h.heap[last] = timer{}
	h.heap = h.heap[:last]
	if i < last && !h.down(i) {
		h.up(i)
	}
}

// Each entry has four children: the heap is half as deep as a binary one, and
// the four lie side by side.
func (h *timers) up(i int) {
	e := h.heap[i]
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&h.heap[parent]) {
			break
		}
		h.heap[i] = h.heap[parent]
		h.moved(i)
		i = parent
	}
	h.heap[i] = e
	h.moved(i)
}

// down moves the entry at place i to where it is before all below it, and
// reports whether that is another place.
func (h *timers) down(i int) bool {
	e, start := h.heap[i], i
	for {
		first := 4*i + 1
		if first >= len(h.heap) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(h.heap)); c++ {
			if h.heap[c].before(&h.heap[least]) {
				least = c
			}
		}
		if !h.heap[least].before(&e) {
			break
		}
		h.heap[i] = h.heap[least]
		h.moved(i)
		i = least
	}
	h.heap[i] = e
	h.moved(i)
	return i != start
}

// fire makes ready what the timers that are due were set for.
func (h *timers) fire(l *Loop) {
	for len(h.heap) > 0 && h.heap[0].when <= l.now {
		if w := h.heap[0].who; w != nil {
			w.job.wake(nil)
			continue
		}
		call := h.heap[0].call
		h.remove(0)
		l.queue.push(entry{call: call})
	}
}

// clock reads the driver's clock. What is measured from now on must not be
// measured from the loop's last look at it, or a Sleep could be too short.
func (l *Loop) clock() int64 { return l.driver.Now() }

// after gives the instant that lies d ahead; never if there is no such instant.
func (l *Loop) after(d time.Duration) int64 {
	now := l.clock()
	if at := now + int64(d); d <= 0 || at > now {
		return at
	}
	return never
}

// Sleep suspends the task for d at least, and returns nil then. If ctx is
// cancelled first it returns the cause. With d <= 0 it is Yield.
func Sleep(ctx context.Context, d time.Duration) error {
	s, t, err := enter(ctx, "Sleep")
	if err != nil {
		return err
	}
	if d <= 0 {
		t.yield()
		return nil
	}
	s.loop.timers.set(s.loop.after(d), t.worker, nil)
	return t.park(s, ctx, Reason{What: "sleep"})
}

// SleepUntil is Sleep until the given time on the loop's clock; Yield if that
// has passed.
func SleepUntil(ctx context.Context, t time.Time) error {
	s, me, err := enter(ctx, "SleepUntil")
	if err != nil {
		return err
	}
	at := s.loop.driver.Instant(t)
	if at <= s.loop.clock() {
		me.yield()
		return nil
	}
	s.loop.timers.set(at, me.worker, nil)
	return me.park(s, ctx, Reason{What: "sleep"})
}

// Yield lets every other task and callback that is ready run once before it
// returns. It fails with the cause if ctx is cancelled, and is not suspended
// then.
func Yield(ctx context.Context) error {
	_, t, err := enter(ctx, "Yield")
	if err != nil {
		return err
	}
	l := t.scope.loop
	if l.alone() {
		l.steps++
		l.stats.Turns++
		t.worker.spent = 0
		return nil
	}
	l.ready(t)
	if s := l.leave(t); s != nil {
		if s.inner = !s.inner; s.inner {
			s.next()
		} else {
			s.yield(unit{})
		}
	}
	l.arrive(t)
	return nil
}

// Now reads the loop's clock: the time of day, or in a simulation the time that
// is simulated. It never suspends. It panics if ctx does not belong to a loop.
func Now(ctx context.Context) time.Time {
	s := scopeOf(ctx)
	if s == nil {
		panic("rondo: Now with a ctx that does not come from Run")
	}
	return s.loop.driver.Time(s.loop.driver.Now())
}

// Every ranges over the times d, 2d, 3d from now, suspending the task until each
// has come, for ever or until ctx is cancelled. A body that takes longer than d
// makes it skip the times that it missed. Every panics if d is not positive.
func Every(ctx context.Context, d time.Duration) iter.Seq[time.Time] {
	if d <= 0 {
		panic("rondo: Every with a duration that is not positive")
	}
	return func(yield func(time.Time) bool) {
		next := Now(ctx).Add(d)
		for SleepUntil(ctx, next) == nil {
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

// A Handle stands for a callback that the loop is to run, and cancels it.
type Handle struct {
	loop  *Loop
	fn    func() // nil when it has run or was cancelled
	alarm int32  // its place among the loop's timers, plus one
	when  int64
}

// CallSoon runs fn on the loop in the next turn, in the order of the calls. fn
// must not wait: it runs on the stack of whichever task is suspending. A panic
// in it ends the loop as a task's would. CallSoon never suspends.
func (l *Loop) CallSoon(fn func()) *Handle {
	l.mustBeInside("Loop.CallSoon")
	h := l.handle(fn)
	l.queue.push(entry{call: h})
	return h
}

// CallLater is CallSoon when d has passed.
func (l *Loop) CallLater(d time.Duration, fn func()) *Handle {
	l.mustBeInside("Loop.CallLater")
	return l.callAt(l.after(d), fn)
}

// CallAt is CallSoon when the loop's clock has come to t.
func (l *Loop) CallAt(t time.Time, fn func()) *Handle {
	l.mustBeInside("Loop.CallAt")
	return l.callAt(l.driver.Instant(t), fn)
}

func (l *Loop) handle(fn func()) *Handle {
	if fn == nil {
		panic("rondo: a callback must not be nil")
	}
	return &Handle{loop: l, fn: fn, when: l.now}
}

func (l *Loop) callAt(at int64, fn func()) *Handle {
	h := l.handle(fn)
	h.when = at
	if at < never {
		l.timers.set(at, nil, h)
	}
	return h
}

// Cancel keeps the callback from running and reports whether it was in time for
// that. It may be called only on the loop.
func (h *Handle) Cancel() bool {
	if h.fn == nil {
		return false
	}
	h.loop.mustBeInside("Handle.Cancel")
	h.fn = nil
	if h.alarm != 0 {
		h.loop.timers.remove(int(h.alarm) - 1)
	}
	return true
}

// When gives the time for which the callback was set.
func (h *Handle) When() time.Time { return h.loop.driver.Time(h.when) }
