package rondo

// This file has the loop's clock and its timers. The timers are a heap ordered by
// instant, and by age where the instants are equal.
//
// The law: a timer that is cancelled leaves the heap at once, so cancelled ones
// never pile up. And nothing is measured from an old reading of the clock, or a
// Sleep could be too short.

import (
	"slices"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
)

// clock is what a loop knows of the time. Instants are the driver's.
type clock struct {
	virtual bool  // time is simulated
	now     int64 // when the clock was read last
	started int64 // when Run began
	epoch   int64 // see driver.Epoch
	yielded int64 // when the processor was given to others last
	asleep  bool  // the loop waits for events; read by the watchdog
}

// timers is the heap. A worker or Handle for which a timer is set keeps its place
// in the heap plus one, and 0 while there is none.
type timers struct {
	heap []timer
	last uint64
}

// A timer is one entry of the heap. Exactly one of worker and call is set: whose
// task, or which callback, is made ready when it is due.
type timer struct {
	when   int64
	age    uint64
	worker *worker
	call   *Handle
}

func (a *timer) before(b *timer) bool {
	return a.when < b.when || a.when == b.when && a.age < b.age
}

// moved notes, where it is kept, that a timer is at place i.
func (h *timers) moved(i int) {
	if w := h.heap[i].worker; w != nil {
		w.timerIndex = int32(i + 1)
	} else {
		h.heap[i].call.timerIndex = int32(i + 1)
	}
}

func (h *timers) len() int { return len(h.heap) }

// next returns the instant of the first timer, or driver.Forever.
func (h *timers) next() int64 {
	if len(h.heap) == 0 {
		return driver.Forever
	}
	return h.heap[0].when
}

// first returns the first timer. There must be one.
func (h *timers) first() timer { return h.heap[0] }

// timersKept is the number of timers for which a heap keeps its memory; of more
// memory it frees half when it is three quarters empty.
const timersKept = 1024

func (h *timers) set(when int64, w *worker, c *Handle) {
	h.last++
	h.heap = append(h.heap, timer{when, h.last, w, c})
	h.up(len(h.heap) - 1)
}

// remove takes the timer at place i out of the heap.
func (h *timers) remove(i int) {
	if e := &h.heap[i]; e.worker != nil {
		e.worker.timerIndex = 0
	} else {
		e.call.timerIndex = 0
	}
	last := len(h.heap) - 1
	h.heap[i] = h.heap[last]
	h.heap[last] = timer{}
	h.heap = h.heap[:last]
	if last == cap(h.heap)/4 && last >= timersKept {
		h.heap = append(make([]timer, 0, cap(h.heap)/2), h.heap...)
	}
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

// readClock reads the driver's clock.
func (l *Loop) readClock() int64 { return l.driver.Now() }

// after returns the instant that lies d ahead, or never if there is none.
func (l *Loop) after(d time.Duration) int64 {
	now := l.readClock()
	if at := now + int64(d); d <= 0 || at > now {
		return at
	}
	return never
}

// A Handle stands for a callback that the loop is to run, and cancels it.
type Handle struct {
	loop       *Loop
	fn         func() // nil when it has run or was cancelled
	timerIndex int32  // its place among the loop's timers, plus one
	direct     bool   // schedule calls fn; it must not wait, and nothing of the program runs in it
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
	mustNotBeNil(fn == nil)
	return &Handle{loop: l, fn: fn, when: l.now}
}

// direct returns a callback that does not wait for its turn.
func (l *Loop) direct(fn func()) *Handle { return &Handle{loop: l, fn: fn, direct: true} }

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
		if fn := h.fn; h.direct && fn != nil {
			h.fn = nil
			fn()
			continue
		}
		l.queue.Add(entry{call: h})
	}
	c.list = nil
}
