package rondo

// This file has the callbacks of a loop: plain functions that it runs between two
// steps of tasks, soon, at an instant, or at the end of something.
//
// The law: a callback runs once at most, on the stack of the task that happens to
// suspend, so it must not wait. One that is cancelled costs nothing any more.

import (
	"slices"
	"time"
)

// A Handle stands for a callback that the loop is to run, and cancels it.
type Handle struct {
	loop       *Loop
	fn         func() // nil when it has run or was cancelled
	timerIndex int32  // its place among the loop's timers, plus one
	when       int64
}

// CallSoon runs fn on the loop in the next turn, in the order of the calls. fn
// must not wait: it runs on the stack of the task that is suspending. A panic
// in it ends the loop as a task's would. CallSoon never suspends.
func (l *Loop) CallSoon(fn func()) *Handle {
	l.mustBeInside("Loop.CallSoon")
	h := l.handle(fn)
	l.queue.Add(entry{call: h})
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
	if h.timerIndex != 0 {
		h.loop.timers.remove(int(h.timerIndex) - 1)
	}
	return true
}

// When returns the time for which the callback was set.
func (h *Handle) When() time.Time { return h.loop.driver.Time(h.when) }

// calls are the callbacks that wait for an end. Those that are stopped are
// dropped when they are half of all, so that many that listen for a while to what
// lives long do not pile up.
type calls struct {
	list []*Handle
	dead int // how many of them are stopped
}

func (c *calls) add(h *Handle) { c.list = append(c.list, h) }

// stopped is called when one of them was stopped. It returns true.
func (c *calls) stopped() bool {
	if c.dead++; 2*c.dead >= len(c.list) {
		c.list = slices.DeleteFunc(c.list, func(h *Handle) bool { return h.fn == nil })
		c.dead = 0
	}
	return true
}

// schedule makes them ready, in the order in which they came.
func (c *calls) schedule(l *Loop) {
	for _, h := range c.list {
		l.queue.Add(entry{call: h})
	}
	c.list = nil
}
