package process

import "errors"

// A cancelledError says that a child ended because it was cancelled. Unwrap returns
// only the cause, so that a scope does not take it for a new error. errors.As finds
// how the child ended, as an *exec.ExitError.
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
