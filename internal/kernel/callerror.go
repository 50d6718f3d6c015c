package kernel

import "strings"

// A CallError is an error of a call: the call, what is wrong with it, and the
// error that errors.Is finds in it.
type CallError struct {
	Call string // such as "Sleep" or "socket.Pipe"
	Text string // what follows the call
	At   string // where the program calls, as file:line, if it can do nothing but change that
	Err  error
}

// Error returns the call, what is wrong with it, and where it is.
func (e *CallError) Error() string {
	if e.At == "" {
		return "rondo: " + e.Call + e.Text
	}
	return "rondo: " + e.Call + e.Text + " (called at " + e.At + ")"
}

// Unwrap returns Err.
func (e *CallError) Unwrap() error { return e.Err }

// Wrap puts the name of the call, or what happened, before an error of package rondo.
func Wrap(call string, err error) error {
	return &CallError{Call: call, Text: ": " + strings.TrimPrefix(err.Error(), "rondo: "), Err: err}
}

// Misuse is Wrap for a call that the program must change, at the given place.
func Misuse(call string, err error, at string) error {
	return &CallError{Call: call, Text: ": " + strings.TrimPrefix(err.Error(), "rondo: "), At: at, Err: err}
}
