package rondo

// The loop's clock, the moments at which a busy loop yields its processor, and the callbacks
// that the loop runs soon or at a given time. The timers themselves are in internal/timers.
//
// The law: nothing is measured from an old reading of the clock, or a Sleep could be too short.

import (
	"runtime"
	"time"

	"github.com/rondo-go/rondo/internal/list"
	"github.com/rondo-go/rondo/internal/nocopy"
	"github.com/rondo-go/rondo/internal/timers"
)

// clock has the times that a loop has read or noted. Instants are the driver's.
type clock struct {
	now     int64 // when the clock was read last
	started int64 // when Run began
	epoch   int64 // the system's monotonic clock at instant 0; 0 if the driver has a clock of another kind
	yielded int64 // when the processor was given to others last
	away    int64 // for how long
	asleep  bool  // the loop waits for events; read by the watchdog
}

// A busy loop yields its processor after yieldEvery, and after helpEvery while other
// goroutines work for it. With one processor they, and the garbage collector, would
// wait for the runtime's preemption otherwise, 10 ms or more; and until a collection
// has ended each pointer that is written costs more (TestYieldCPU).
const (
	yieldEvery = 200 * time.Microsecond
	helpEvery  = 50 * time.Microsecond
)

// A timer is set for the task of a worker, or for a callback.
type timer = timers.Timer[worker, Handle]

// yieldCPU gives the processor to other goroutines for a moment if the loop has been busy for a
// while. Goroutines that do not work for the loop get no more time than the loop itself.
func (l *Loop) yieldCPU() {
	every := max(int64(yieldEvery), l.away)
	if l.helpers > 0 {
		every = int64(helpEvery)
	}
	if l.now-l.yielded < every {
		return
	}
	runtime.Gosched()
	l.yielded = l.driver.Now()
	l.away, l.now = l.yielded-l.now, l.yielded
}

// helpersPost is called before the loop sleeps. If a goroutine that works for the loop was started
// since the last sleep, helpersPost lets goroutines run for a moment, and reports whether one has
// posted. To fall asleep in the runtime's poller and to be woken there takes longer than to start a
// goroutine: an Offload of a short function takes two thirds of the time.
func (l *Loop) helpersPost() bool {
	if !l.fresh {
		return false
	}
	l.fresh = false
	runtime.Gosched()
	return l.inbox.Pending()
}

// charge reads the clock after a step, and charges the task whose step it was.
func (l *Loop) charge() int64 {
	if t := l.ran; t != nil {
		if t.worker != nil {
			return l.pace.Charge(l.steps, l.driver.Now(), &t.worker.cost, t.id)
		}
		return l.pace.Charge(l.steps, l.driver.Now(), nil, t.id)
	}
	return l.pace.Charge(l.steps, l.driver.Now(), nil, 0)
}

// after returns the instant that lies d ahead, or never if there is none.
func (l *Loop) after(d time.Duration) int64 {
	now := l.driver.Now()
	if at := now + int64(d); d <= 0 || at > now {
		return at
	}
	return never
}

// A Handle is a scheduled callback, which it can cancel.
type Handle struct {
	_          nocopy.Field
	loop       *Loop
	fn         func() // nil when it has run or was cancelled
	timerIndex int32  // its place among the loop's timers, plus one
	lined      bool   // it stands for a place in the line of a simulation; see inbox/simulated.go
	tied       bool   // the timer that fires after it was set for the same instant
	reused     bool   // the loop uses it for another function when it has run; see takePosted
	direct     bool   // readyAll calls fn; it must not wait, and nothing of the program runs in it
	when       int64
}

// CallSoon runs fn on the loop in the next turn, in the order of the calls. fn
// must not wait: it runs on the stack of the task that is suspending. A panic
// in it ends the loop as a task's would. CallSoon never suspends.
func (l *Loop) CallSoon(fn func()) *Handle {
	l.mustBeInside("Loop.CallSoon")
	h := l.handle(fn)
	if l.lineUp(h) {
		l.inbox.Line(posted{call: h})
	}
	l.queue.Add(entry{call: h})
	return h
}

// CallLater runs fn as CallSoon does, when d has passed.
func (l *Loop) CallLater(d time.Duration, fn func()) *Handle {
	l.mustBeInside("Loop.CallLater")
	return l.callAt(l.after(d), fn)
}

// CallAt runs fn as CallSoon does, when the loop's clock has reached t.
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
		l.timers.Set(max(at, 0), nil, h) // negative instants tell a driver something else
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
	h.stop()
	return true
}

// stop keeps the callback from running.
func (h *Handle) stop() {
	h.fn = nil
	if h.timerIndex != 0 {
		h.loop.timers.Remove(h.timerIndex)
	}
}

// When returns the time for which the callback was set.
func (h *Handle) When() time.Time { return h.loop.driver.Time(h.when) }

// calls are callbacks that wait for the end of a task or a Future, in the order in which they
// were added. Stopped ones are removed now and then, so they do not pile up at a task that
// lives long.
type calls struct{ list.Lazy[Handle] }

// stopped is called when one of them was stopped. It returns true.
func (c *calls) stopped() bool {
	c.Marked(func(h *Handle) bool { return h.fn == nil })
	return true
}

// readyAll makes callbacks ready that have waited for an end. What becomes ready after
// them must not pass them; see ready.
func (l *Loop) readyAll(waiting []*Handle) {
	l.pass = l.pass && len(waiting) == 0
	for _, h := range waiting {
		if fn := h.fn; h.direct && fn != nil {
			h.fn = nil
			fn()
			continue
		}
		l.queue.Add(entry{call: h})
	}
}
