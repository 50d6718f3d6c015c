package rondo

// This file has the errors that Rondo returns and the sentences with which it
// refuses what a caller got wrong.

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/stacks"
)

var (
	// ErrNoLoop says that a ctx does not come from Run, or that the calling
	// goroutine is not one of the loop's tasks.
	ErrNoLoop = errors.New("rondo: this ctx belongs to no running loop; use the one that Run or Go hands down")

	// ErrLoopClosed says that the loop has ended.
	ErrLoopClosed = errors.New("rondo: the loop has ended")

	// ErrDeadlock says that every task of a loop waited, and nothing was known that
	// could end any of the waits. See Runner.EndDeadlock.
	ErrDeadlock = errors.New("rondo: deadlock")

	// ErrNotDone says that the result is not ready yet.
	ErrNotDone = errors.New("rondo: not done")

	// ErrQueueClosed says that a Queue was closed, and is empty if it was read.
	ErrQueueClosed = errors.New("rondo: queue closed")

	errOtherLoop = errors.New("rondo: the object belongs to another loop than the ctx")
)

// A deadlineError is the cause of a scope whose deadline has passed, one for each
// scope: so that an inner deadline is not taken for an outer one. To everybody
// else it is context.DeadlineExceeded.
type deadlineError struct{ error }

func (e *deadlineError) Unwrap() error { return e.error }

// Timeout makes it one of the errors that os.IsTimeout knows.
func (e *deadlineError) Timeout() bool { return true }

// wrap puts the name of the call, or what happened, before an error of the caller.
func wrap(call string, err error) error { return kernel.Wrap(call, err) }

// misuse puts the name of the exported function that was called before err. It is
// found on the stack, so no call has to bring its name along.
func misuse(err error) error { return wrap(stacks.CalledAs(), err) }

// mustHaveLoop returns the scope of ctx. It is for functions that return no error.
func mustHaveLoop(ctx context.Context) *Scope {
	s := scopeOf(ctx)
	if s == nil {
		panic(misuse(ErrNoLoop).Error())
	}
	return s
}

// mustNotBeMisuse panics if err is the error of a call outside the loop. It is for
// sequences, which end without an error.
func mustNotBeMisuse(err error) {
	if errors.Is(err, ErrNoLoop) {
		panic(err.Error())
	}
}

// mustNotBeNil panics if a function of the caller's is nil.
func mustNotBeNil(isNil bool) {
	if isNil {
		panic("rondo: " + stacks.CalledAs() + " with a nil function")
	}
}

// A PanicError is a panic of a task or a callback, with the stack on which it
// happened.
type PanicError struct {
	Task  string // the task's name
	Value any    // what panic was called with
	Stack []byte // the task's own stack, as runtime/debug.Stack prints it
	Site  string // where the task was started, as file:line; only with Debug

	thrown bool // Run has panicked with it
}

// Error returns one line: the task's name, with Debug the place where it was
// started, and the value. If Run has panicked with it, the stack follows, because
// Go prints nothing else of it then.
func (e *PanicError) Error() string {
	if e.thrown {
		return fmt.Sprintf("%+v", e)
	}
	started := ""
	if e.Site != "" {
		started = " (started at " + e.Site + ")"
	}
	return fmt.Sprintf("rondo: panic in %s%s: %v", e.Task, started, e.Value)
}

// Format prints Error, and with %+v the stack as well. That begins with the
// function that panicked.
func (e *PanicError) Format(f fmt.State, verb rune) {
	line := *e
	line.thrown = false
	if text := line.Error(); verb != 'v' || !f.Flag('+') {
		fmt.Fprintf(f, fmt.FormatString(f, verb), e.Error())
	} else {
		fmt.Fprintf(f, "%s\n\n%s", text, stacks.OfPanic(string(e.Stack)))
	}
}

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// panicError returns the panic with value v of what is named, which a deferred call
// has recovered. One that has its stack already keeps it.
func panicError(name string, v any) *PanicError {
	if e, ok := v.(*PanicError); ok {
		return e
	}
	return &PanicError{Task: name, Value: v, Stack: debug.Stack()}
}
