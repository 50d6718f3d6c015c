package rondo

// A Tracer lets a program follow what the tasks of a loop do. startObservers starts it, and the
// other observers that a Runner and the environment ask for.

import (
	"cmp"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/rondo-go/rondo/internal/gid"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/stacks"
	"github.com/rondo-go/rondo/internal/timeline"
	"github.com/rondo-go/rondo/internal/watchdog"
)

// A Tracer is called when something happens to the tasks of a loop. Each of its functions may
// be nil. They are called on the loop, with the time of the loop's clock. For every task
// Started is called once, then Stepped and Parked alternate, and at last Ended is called once,
// which also ends the last step. If anything but the task itself ended a wait, Woken is called
// between Parked and the next Stepped.
//
// A hook must not wait: a wait in one panics. It must not keep the Task beyond its Ended, and
// calls of Rondo that it makes are not traced. A hook that panics is reported to the Runner's
// OnError, once, and the Tracer is not called any more; the loop goes on. A hook must not call
// runtime.Goexit, as testing.T.FailNow does: that would end a task which others may wait for,
// in the middle of what the loop does.
//
// With a Tracer every step goes through the run queue, even a Yield while nothing else can run.
type Tracer struct {
	// Started is called when a task was started, before its first step.
	Started func(t *Task, at time.Time)

	// Stepped is called when t begins or continues to run.
	Stepped func(t *Task, at time.Time)

	// Parked is called when t waits, with what it waits for. If it only lets
	// others run first, why.What is "yield".
	Parked func(t *Task, why Reason, at time.Time)

	// Woken is called when t's wait is over, with the task that ended it: nil if that was a
	// timer, a callback or something outside the loop.
	Woken func(t, by *Task, at time.Time)

	// Ended is called when t has ended, with its error.
	Ended func(t *Task, err error, at time.Time)

	// Called is called when a callback has run. It ran between two steps.
	Called func(from, to time.Time)
}

// startObservers starts the observers that the Runner and the environment ask for.
// What a timeline must show goes into line, if there is one. It is the last that a
// loop does before it runs.
func (l *Loop) startObservers(line *timeline.Loop) {
	r := &l.runner
	traced := &tracers{loop: l}
	if line != nil {
		line.Begin(l.name, l.driver.Time(l.driver.Now()))
		traced.all = append(traced.all, drawing(timeline.Drawing(line, describe)))
		l.stops = append(l.stops, func() {
			if err := line.Close(); err != nil {
				l.notice(TaskInfo{Name: "RONDO_TRACE", Loop: l.name}, wrap("the timeline is not complete", err))
			}
		})
	}
	if r.Debug {
		traced.all = append(traced.all, drawing(timeline.ExecutionTrace(describe)))
	}
	if r.Tracer != nil {
		traced.all = append(traced.all, r.Tracer)
	}
	var all observers
	if r.Debug {
		all = append(all, &debugger{loop: l, locks: gid.Locks(), undo: l.markUnwinding, warned: make(map[string]bool)})
	}
	l.startWatchdog()
	if traced.all != nil {
		all = append(all, traced)
	}
	if all != nil {
		l.observer, l.counted = all, true
	}
	if r.ProfileLabels {
		l.label = stacks.Labels(l.name)
	}
}

// drawing returns a Tracer that calls h, the hooks of a timeline or of an execution trace.
func drawing(h timeline.Hooks[*Task]) *Tracer {
	return &Tracer{
		Started: h.Started, Stepped: h.Stepped, Woken: h.Woken, Ended: h.Ended, Called: h.Called,
		Parked: func(t *Task, why Reason, at time.Time) { h.Parked(t, why.String(), at) },
	}
}

// describe is for package timeline.
func describe(t *Task) timeline.Description {
	return timeline.Description{Parent: t.parent, Name: t.Name(), Named: t.givenName() != "", Function: t.function()}
}

// startWatchdog starts the watch on steps that take too long. In a simulation steps
// take no time, so it is started there only if it was asked for.
func (l *Loop) startWatchdog() {
	r := &l.runner
	limit := r.SlowStep
	if limit <= 0 && l.sim == nil {
		limit = cmp.Or(r.HangAfter, 10*time.Second)
	}
	if limit <= 0 {
		return
	}
	dog := watchdog.Start(watchdog.Config{
		Loop: l.name, Limit: limit, Look: l.look, Member: l.goroutines.Has,
		Late: func() { _ = l.Post(l.reportLate) },
	})
	l.stops = append(l.stops, dog.Stop)
	if r.SlowStep > 0 {
		l.late = dog.Ending
	}
}

// look is called by the watchdog, on a goroutine of its own, and reads what the loop may be
// writing. A value that is out of date only delays a report, and the pointers that look follows
// lead to memory that is written once. So the loop does not synchronize with look, and norace
// turns the race detector off here.
//
//go:norace
func (l *Loop) look() watchdog.Step {
	step := watchdog.Step{Count: l.steps, Asleep: l.asleep, Task: callback}
	if at, known := l.pace.Began(step.Count); known && !l.jumps() {
		step.Age = time.Duration(l.driver.Now() - at)
	}
	if t := l.current; t != nil {
		step.Task = "task-" + strconv.FormatUint(t.id, 10)
		if w := t.worker; w != nil {
			step.Goroutine = w.id
			if w.inner != nil {
				step.Cancelled = w.inner.cut
			}
		}
		if x := t.extra; x != nil {
			if x.rest != nil {
				step.Site = x.rest.debugSite
			}
			if x.name != nil {
				step.Task = *x.name
			}
		}
	}
	return step
}

// Holds implements kernel.Loop.
func (l *loopDoor) Holds() kernel.Hold {
	return (*Loop)(l).look().Hold((*Loop)(l).look, l.goroutines.Has)
}

// tracers are the observer that calls Tracers.
type tracers struct {
	loop    *Loop
	all     []*Tracer
	calling *Tracer // whose hook runs
}

// observe calls the hook of each tracer. What happens while a hook runs is not traced, nor is
// the runTask. While a hook runs there is no running task, so that none can wait in it.
func (ts *tracers) observe(e event) {
	l := ts.loop
	switch {
	case len(ts.all) == 0 || ts.calling != nil || e.task != nil && e.task.id == 0:
		return
	case e.kind == wakeBegins:
		return
	case e.kind == taskParked && (e.task == nil || e.task.state == stateDone):
		return
	}
	by, now := l.current, l.driver.Time(l.driver.Now())
	l.current = nil
	defer ts.catch(by)
	for _, ts.calling = range ts.all {
		ts.calling.call(l, e, by, now)
	}
	ts.calling = nil
}

// call calls the hook for e, if there is one. by is the task that runs.
func (tr *Tracer) call(l *Loop, e event, by *Task, now time.Time) {
	t := e.task
	switch {
	case e.kind == taskStarted && tr.Started != nil:
		tr.Started(t, now)
	case e.kind == taskRuns && tr.Stepped != nil:
		tr.Stepped(t, now)
	case e.kind == taskParked && tr.Parked != nil:
		why := Reason{What: "yield"}
		if t.state == stateWaiting {
			why = Reason{What: t.worker.reason.What, On: cmp.Or(t.worker.owner(), t.worker.reason.On)}
		}
		tr.Parked(t, why, now)
	case e.kind == taskWoken && tr.Woken != nil:
		tr.Woken(t, by, now)
	case e.kind == taskEnded && tr.Ended != nil:
		tr.Ended(t, e.err, now)
	case e.kind == callbackRan && tr.Called != nil:
		tr.Called(l.driver.Time(e.since), now)
	}
}

// catch is called, deferred, when the tracers have been called. One whose hook did
// not return is not called any more.
func (ts *tracers) catch(current *Task) {
	tr := ts.calling
	if tr == nil {
		ts.loop.current = current
		return
	}
	v := recover()
	ts.calling = nil
	ts.all = slices.DeleteFunc(slices.Clone(ts.all), func(other *Tracer) bool { return other == tr })
	if v == nil {
		// A Goexit: it ends the loop in any case.
		ts.loop.current = current
		ts.loop.callbackExited()
		return
	}
	defer func() { ts.loop.current = current }() // not before OnError, which must not wait here
	ts.loop.notice(TaskInfo{Name: "a hook of the Tracer", Loop: ts.loop.name},
		&PanicError{Task: "a hook of the Tracer", Value: v, Stack: debug.Stack()})
}
