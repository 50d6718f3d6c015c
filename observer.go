package rondo

// An observer follows what a loop does: the tracers, and the checks of Debug. A loop
// without one has a nil observer, which costs it one comparison where there is something to
// tell.
//
// The law: an observer changes nothing. It is called on the loop, between two
// steps of the kernel or within one, and never waits.

import (
	"fmt"
	"log/slog"

	"github.com/rondo-go/rondo/internal/gid"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/report"
	"github.com/rondo-go/rondo/internal/stacks"
)

// An observer is told what happens on a loop, when it happens.
type observer interface {
	observe(e event)
}

// An event is something that happens on a loop.
type event struct {
	kind  eventKind
	task  *Task // nil if it is about no task
	err   error // what a task has ended with
	since int64 // when a callback began
}

type eventKind uint8

const (
	taskStarted eventKind = iota // a task was made; it has not run
	taskRuns                     // a task runs
	taskParked                   // a task suspends: it waits, or yields
	wakeBegins                   // the wait of a task is about to be ended
	taskWoken                    // it was ended: the task is ready
	taskEnded                    // a task has ended
	callbackRan                  // a callback has run
)

// tell tells the observer of something that happens to t. It is not inlined, because
// an event would be on the stack of every task that waits.
//
//go:noinline
func (l *Loop) tell(kind eventKind, t *Task) { l.observer.observe(event{kind: kind, task: t}) }

// observers passes each event to several observers in turn.
type observers []observer

func (os observers) observe(e event) {
	for _, o := range os {
		o.observe(e)
	}
}

// A debugger makes the checks of Debug. It notes where tasks were started, and warns of waits
// that an inner scope cannot end. It panics if a goroutine outside the loop ends a wait, and if
// a task waits while it is locked to its thread. It unlocks such a task first, so that deferred
// calls may wait, unless a call from C has locked it. With LockThread such locks are not
// checked: one unlock too many, by a deferred call of the task, would move it to another
// thread.
type debugger struct {
	loop    *Loop
	locks   uint64          // how often the goroutine of Run is locked to its thread
	undo    func(*Task)     // markUnwinding
	refused *Task           // the task that could not be unlocked when it was to wait
	warned  map[string]bool // the places of which warnOuter has warned
}

func (d *debugger) observe(e event) {
	switch e.kind {
	case taskStarted:
		e.task.ensureRest().debugSite = stacks.Here()
	case wakeBegins:
		if !d.loop.inside() {
			panic(d.loop.wrongGoroutine())
		}
	case taskParked:
		d.warnOuter(e.task)
		if t := e.task; t != nil && t != d.loop.runTask && d.locks == 0 && gid.Unlock() && d.refused != t {
			if gid.Locks() != d.locks {
				d.refused = t // inside a call from C: only the runtime can end it
			}
			d.undo(t)
			panic(fmt.Sprintf("rondo: %s in %s, which is locked to its thread by runtime.LockOSThread or by a call from C: it must not wait; use Offload", stacks.Entered(), t.Name()))
		}
	case taskEnded:
		if _, panicked := e.err.(*PanicError); d.locks == 0 && gid.Unlock() && !panicked {
			panic("rondo: " + e.task.Name() + " has ended and is locked to its thread: call runtime.UnlockOSThread before")
		}
	}
}

// warnOuter warns, once a place, of a wait with the ctx of a scope around the one that
// the task is in: what cancels the inner one does not end it.
func (d *debugger) warnOuter(t *Task) {
	if t == nil || t.state != stateWaiting || t.worker.under == nil || t.worker.under == t.worker.inner {
		return
	}
	for s := t.worker.inner.parent; s != nil; s = s.parent {
		if at := ""; s == t.worker.under && !stacks.OwnScope() {
			if at = stacks.Place(); !d.warned[at] {
				d.warned[at] = true
				d.warn("rondo: "+stacks.CalledAs()+" with the ctx of an outer scope, which the cancellation of the inner one does not reach; use the ctx of the innermost function",
					"loop", d.loop.name, "task", t.Name(), "at", at)
			}
		}
	}
}

// warn writes a line to the log in the middle of a switch. The handler of package slog is the
// program's: if it waits, that is a panic as in a callback.
func (d *debugger) warn(msg string, args ...any) {
	defer func(t *Task) { d.loop.current = t }(d.loop.current)
	d.loop.current = nil
	report.Log(slog.LevelWarn, msg, args...)
}

// wrongGoroutine is the panic of a call, on something that belongs to the loop, by
// a goroutine that is not the loop's.
func (l *Loop) wrongGoroutine() string {
	text := " from a goroutine that is not a task of " + l.name + ", to which it belongs; use Post or Submit, or a Future"
	return (&kernel.CallError{Call: stacks.CalledAs(), Text: text, At: stacks.Place()}).Error()
}
