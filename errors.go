package rondo

// This file has the errors that Rondo returns and the sentences with which it
// refuses what a caller got wrong.

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

var (
	// ErrNoLoop says that a ctx does not come from Run, or that the calling
	// goroutine is not one of the loop's tasks.
	ErrNoLoop = errors.New("the ctx does not belong to a loop here; use the one that Run or Go hands down")

	// ErrLoopClosed says that the loop has ended.
	ErrLoopClosed = errors.New("the loop has ended")

	// ErrNotDone says that a result was asked for that is not there yet.
	ErrNotDone = errors.New("rondo: not done")

	// ErrQueueClosed says that a Queue was closed, and is empty if it was read.
	ErrQueueClosed = errors.New("rondo: queue closed")

	errOtherLoop = errors.New("the object belongs to another loop than the ctx")
)

// misuse puts the name of the call before an error of the caller.
func misuse(call string, err error) error { return fmt.Errorf("rondo: %s: %w", call, err) }

// A PanicError is a panic of a task or a callback, with the stack on which it
// happened.
type PanicError struct {
	Task  string // the task's name
	Value any    // what panic was called with
	Stack []byte // the task's own stack, as runtime/debug.Stack prints it
	Site  string // where the task was started, as file:line; only with Debug
}

// Error gives the task's name, with Debug where it was started, and the value, followed by the stack: it is what
// is printed when Run ends with the panic.
func (e *PanicError) Error() string {
	started := ""
	if e.Site != "" {
		started = " (started at " + e.Site + ")"
	}
	return fmt.Sprintf("rondo: panic in %s%s: %v\n\n%s", e.Task, started, e.Value, e.Stack)
}

// Unwrap gives the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// fault is why a loop ends before its time; the first reason holds.
type fault struct {
	panic  *PanicError
	goexit bool
	err    error
}

func (f *fault) any() bool { return f.panic != nil || f.goexit || f.err != nil }

// panicError gives the panic with value v of whatever is named, which a deferred
// call has recovered. One that has its stack already keeps it.
func panicError(name string, v any) *PanicError {
	if e, ok := v.(*PanicError); ok {
		return e
	}
	return &PanicError{Task: name, Value: v, Stack: debug.Stack()}
}

// panicked keeps the panic with value v of whatever is named, with the stack of
// the caller, who is a deferred call. Unless the Runner says otherwise it ends
// the loop.
func (l *Loop) panicked(name string, v any) error {
	e := panicError(name, v)
	if l.runner.Recover && name != callback {
		return e
	}
	if !l.fault.any() {
		l.fault.panic = e
	}
	l.end(e)
	return e
}

// callback is how a panic in a callback is named. No task answers for it, so
// it ends the loop in any case.
const callback = "a callback"

// exited hears that a task or a callback called runtime.Goexit: Run will do the
// same.
func (l *Loop) exited() {
	if !l.fault.any() {
		l.fault.goexit = true
	}
	l.spare.over = 0
	l.end(errGoexit)
}

// abort ends the loop with an error that no task is to blame for.
func (l *Loop) abort(err error) {
	if l.fault.err == nil {
		l.fault.err = err
	}
	l.end(err)
}

// end cancels everything, so that deferred calls run and tasks end. Shields
// hold: what they guard is finished first.
func (l *Loop) end(cause error) {
	l.root.cancel(&verdict{err: context.Canceled, cause: cause, origin: &l.root})
}
