// Package loop is an event loop to read: all that one must have, in as few lines
// as it takes, built on package coro. Rondo is what to use.
//
// A Loop has a queue of tasks that can run, a heap of timers, and a list of
// descriptors that are waited for. It takes the first task of the queue, lets it
// run until it waits, and goes on with the next. Only when there is none does it
// look at the timers and descriptors, and sleeps until there is something to do;
// with TimersFirst it looks at the timers before each task.
//
// One thing runs at a time, so there is no lock, and nothing here may be used from
// another goroutine.
package loop

import (
	"errors"
	"slices"
	"time"
)

// ErrNothingLeft says that no task can ever run again: either there is none, or
// they all wait for each other.
var ErrNothingLeft = errors.New("loop: nothing is left that could run")

// A Loop runs tasks. Its zero value is ready.
type Loop struct {
	// TimersFirst is the policy: timers that are due go before tasks that can
	// run. Otherwise they come after them, and tasks that are always ready keep a
	// timer waiting for ever.
	TimersFirst bool

	runnable []*Task
	timers   timers
	called   uint64 // how often CallAt was
	watches  []watch
	current  *Task   // the one that runs
	alive    []*Task // all that have not ended, in the order of their start
	stopped  bool
}

// Run runs the tasks until one of them calls Stop. Then it ends those that are
// left: they unwind, and their deferred calls run. A panic in a task comes out of
// Run.
func (l *Loop) Run() error {
	defer l.end()
	for l.stopped = false; !l.stopped; {
		switch {
		case l.TimersFirst && l.timers.due():
			l.timers.pop().action()
		case len(l.runnable) > 0:
			t := l.runnable[0]
			l.runnable = l.runnable[1:]
			l.step(t)
		case l.timers.due():
			l.timers.pop().action()
		case len(l.timers) > 0 || len(l.watches) > 0:
			if err := l.sleep(); err != nil {
				return err
			}
		default:
			return ErrNothingLeft
		}
	}
	return nil
}

// Stop makes Run return when the task or callback that calls it has come to its
// next wait or its end.
func (l *Loop) Stop() { l.stopped = true }

// Time is the loop's idea of it.
func (l *Loop) Time() time.Time { return time.Now() }

// step lets a task run until it waits or ends.
func (l *Loop) step(t *Task) {
	l.current = t
	defer func() { l.current = nil }()
	if _, alive := t.coroutine.Resume(struct{}{}); alive {
		return
	}
	l.alive = slices.DeleteFunc(l.alive, func(other *Task) bool { return other == t })
	if t.err != nil {
		t.done.Fail(t.err)
	} else {
		t.done.Set(struct{}{})
	}
}

// park suspends the task that runs, until somebody makes it runnable. It gives
// the cause if that is a cancellation.
func (l *Loop) park() error {
	t := l.running()
	t.yield(struct{}{})
	cause := t.cause
	t.cause = nil
	return cause
}

// running returns the task that runs.
func (l *Loop) running() *Task {
	if l.current == nil {
		panic("loop: a wait outside a task")
	}
	return l.current
}

// ready puts a task at the end of the queue.
func (l *Loop) ready(t *Task) { l.runnable = append(l.runnable, t) }

// Yield lets all other tasks that can run go first.
func (l *Loop) Yield() error {
	l.ready(l.running())
	return l.park()
}

// sleep waits for the first timer, or for a descriptor if that is earlier.
func (l *Loop) sleep() error {
	if len(l.watches) > 0 {
		return l.poll()
	}
	time.Sleep(l.timers[0].when.Sub(l.Time()))
	return nil
}

// end unwinds the tasks that are left.
func (l *Loop) end() {
	for len(l.alive) > 0 {
		t := l.alive[0]
		l.alive = l.alive[1:]
		t.coroutine.Cancel()
	}
	l.runnable, l.timers, l.watches = nil, nil, nil
}
