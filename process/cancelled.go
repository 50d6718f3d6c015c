package process

import (
	"context"
	"errors"
	"os"
	"syscall"

	"github.com/rondo-go/rondo/internal/errtree"
)

// A cancelledError says that a child ended because it was cancelled. Unwrap returns
// only the cause, so a scope takes it for its own cancellation and drops it. errors.As
// finds how the child ended, as an *exec.ExitError.
type cancelledError struct {
	name  string
	cause error
	exit  error // nil: with status 0
}

func (e *cancelledError) Error() string {
	text := "rondo: process " + e.name + ": " + e.cause.Error()
	if e.exit != nil {
		text += "; it ended with " + e.exit.Error()
	}
	return text
}

func (e *cancelledError) Unwrap() error { return e.cause }

func (e *cancelledError) Is(target error) bool { return errors.Is(e.exit, target) }

func (e *cancelledError) As(target any) bool { return e.exit != nil && errors.As(e.exit, target) }

// An exitError is a cancelledError that says more than that: a scope keeps it.
type exitError struct{ cancelledError }

func (e *exitError) Unwrap() []error { return []error{e.cause, e.exit} }

// cancelled returns the error of a child that has ended because of cause. Its exit says
// something of its own if it chose a status, or if only the kill after WaitDelay ended it.
// A child that the signal of Cancel ends just before that kill says nothing new. After a
// deadline the caller wants to know whose it was.
func cancelled(name string, cause, exit error, state *os.ProcessState, killed bool) error {
	e := cancelledError{name, cause, exit}
	by := signalOf(state)
	if exit != nil && (by == 0 || killed && by == syscall.SIGKILL || errtree.Is(cause, context.DeadlineExceeded)) {
		return &exitError{e}
	}
	return &e
}

// signalOf returns the signal that ended a child, or 0.
func signalOf(state *os.ProcessState) syscall.Signal {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal()
	}
	return 0
}
