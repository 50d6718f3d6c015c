package rondo

// This file tells who looks on at a loop what its tasks do. A loop at which
// nobody looks has no watch, and each place in the kernel where there would be
// something to tell costs it one comparison with nil.

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/rondo-go/rondo/internal/gid"
	"github.com/rondo-go/rondo/internal/timeline"
)

// A Tracer is told what the tasks of a loop do, as it happens. Each of its
// functions may be nil. They are called on the loop, with the loop's clock: for
// every task Started once, then Stepped and Parked in turns, Woken between a
// Parked and the Stepped that follows if anything but the task itself ended the
// wait, and Ended once, which also ends the last step.
//
// A hook must not wait: a wait in one panics. It must not keep the Task beyond
// its Ended, and what it does to the loop itself is not told. A hook that panics
// is reported to the Runner's OnError, once, and the Tracer is told nothing
// more; the loop goes on.
//
// A loop with a Tracer takes each step through the queue, also a Yield that has
// nothing else to run.
type Tracer struct {
	// Started hears of a task that was started, before its first step.
	Started func(t *Task, at time.Time)

	// Stepped hears that t has the baton: it runs from here on.
	Stepped func(t *Task, at time.Time)

	// Parked hears that t waits, and for what. If it only lets others run first,
	// why.What is "yield".
	Parked func(t *Task, why Reason, at time.Time)

	// Woken hears that t's wait is over, and of the task that ended it: nil if
	// that was a timer, a callback or the world.
	Woken func(t, by *Task, at time.Time)

	// Ended hears that t has ended, and of its error.
	Ended func(t *Task, err error, at time.Time)

	// Called hears of a callback that has run. It runs between two steps.
	Called func(from, to time.Time)
}

// watch is who looks on at a loop: the watchdog, tracers, or only Debug.
type watch struct {
	loop    *Loop
	debug   bool
	dog     *watchdog // nil if steps may take as long as they like
	tracers []*Tracer
	telling *Tracer // whose hook runs
	stops   []func()
}

// newWatch gives the watch that r and the environment ask for, or nil. What it
// must draw goes into line, if there is one.
func newWatch(l *Loop, r *Runner, line *timeline.Loop) *watch {
	w := &watch{loop: l, debug: r.Debug}
	if line != nil {
		w.draw(line)
	}
	if r.Debug {
		w.regions()
	}
	if r.SlowStep > 0 {
		w.dog = startWatchdog(l, r.SlowStep)
	}
	if r.Tracer != nil {
		w.tracers = append(w.tracers, r.Tracer)
	}
	if w.dog == nil && w.tracers == nil {
		return nil
	}
	return w
}

// stop ends what the watch has begun.
func (w *watch) stop() {
	if w.dog != nil {
		w.dog.stop()
	}
	for _, stop := range w.stops {
		stop()
	}
}

// debugging tells whether the environment asks for Debug.
func debugging() bool { return os.Getenv("RONDO_DEBUG") == "1" }

// begins hears of the entry that the loop takes from its queue.
func (w *watch) begins(e entry) {
	if w.dog != nil {
		w.dog.stepped(e)
	}
}

// sleeps hears that the loop goes to sleep, or has woken.
func (w *watch) sleeps(asleep bool) {
	if w.dog != nil {
		w.dog.sleeps(asleep)
	}
}

// quiet tells whether no tracer wants to hear of t: there is none, a hook is
// running, or t is the hub.
func (w *watch) quiet(t *Task) bool {
	return len(w.tracers) == 0 || w.telling != nil || t.id == 0
}

func (w *watch) now() time.Time { return w.loop.driver.Time(w.loop.driver.Now()) }

// each ranges over the tracers, and catches what goes wrong in their hooks.
// While a hook runs there is no running task, so that none can wait in it.
func (w *watch) each(tell func(tr *Tracer)) {
	current := w.loop.current
	w.loop.current = nil
	defer w.caught(current)
	for _, w.telling = range w.tracers {
		tell(w.telling)
	}
	w.telling = nil
}

// caught is called, deferred, when the tracers have been told. One whose hook
// did not return is told nothing more.
func (w *watch) caught(current *Task) {
	w.loop.current = current
	tr := w.telling
	if tr == nil {
		return
	}
	v := recover()
	w.telling = nil
	w.tracers = slices.DeleteFunc(slices.Clone(w.tracers), func(other *Tracer) bool { return other == tr })
	if v == nil {
		// A Goexit: it ends the loop in any case.
		w.loop.unwind()
		return
	}
	w.loop.notice(TaskInfo{Name: "a hook of the Tracer", Loop: w.loop.name},
		&PanicError{Task: "a hook of the Tracer", Value: v, Stack: debug.Stack()})
}

func (w *watch) started(t *Task) {
	if w.debug {
		t.more().site = here()
	}
	if w.quiet(t) {
		return
	}
	at := w.now()
	w.each(func(tr *Tracer) {
		if tr.Started != nil {
			tr.Started(t, at)
		}
	})
}

func (w *watch) arrives(t *Task) {
	if w.dog != nil {
		w.dog.runs(gid.ID())
	}
	if w.quiet(t) {
		return
	}
	at := w.now()
	w.each(func(tr *Tracer) {
		if tr.Stepped != nil {
			tr.Stepped(t, at)
		}
	})
}

// leaves hears that t, if it is a task, gives the baton away.
func (w *watch) leaves(t *Task) {
	if t == nil || t.state == stateDone || w.quiet(t) {
		return
	}
	why := Reason{What: "yield"}
	if t.state == stateWaiting {
		why = Reason{What: t.worker.reason.What, On: t.worker.on()}
	}
	at := w.now()
	w.each(func(tr *Tracer) {
		if tr.Parked != nil {
			tr.Parked(t, why, at)
		}
	})
}

// guards refuses, with Debug, a call from outside.
func (w *watch) guards() {
	if w.debug && !w.loop.inside() {
		panic(w.loop.strange())
	}
}

// wakes hears that the wait of t was ended.
func (w *watch) wakes(t *Task) {
	if w.quiet(t) {
		return
	}
	by := w.loop.current
	at := w.now()
	w.each(func(tr *Tracer) {
		if tr.Woken != nil {
			tr.Woken(t, by, at)
		}
	})
}

func (w *watch) ends(t *Task, err error) {
	if w.quiet(t) {
		return
	}
	at := w.now()
	w.each(func(tr *Tracer) {
		if tr.Ended != nil {
			tr.Ended(t, err, at)
		}
	})
}

// called hears of a callback that has run since from.
func (w *watch) called(from time.Time) {
	if len(w.tracers) == 0 || w.telling != nil {
		return
	}
	to := w.now()
	w.each(func(tr *Tracer) {
		if tr.Called != nil {
			tr.Called(from, to)
		}
	})
}

// strange is what a call from outside, of something that belongs to the loop, is
// refused with.
func (l *Loop) strange() string {
	return fmt.Sprintf("rondo: %s from a goroutine that is not a task of %s, to which it belongs; use Post or Submit, or a Future", calledAs(), l.name)
}
