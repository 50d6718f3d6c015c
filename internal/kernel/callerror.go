package kernel

import "strings"

// A CallError is an error of a call: the call, what is wrong with it, and the
// error that errors.Is finds in it.
type CallError struct {
	Call string // such as "Sleep" or "socket.Pipe"
	Text string // what follows the call
	Err  error
}

// Error returns the call and what is wrong with it.
func (e *CallError) Error() string { return "rondo: " + e.Call + e.Text }

// Unwrap returns Err.
func (e *CallError) Unwrap() error { return e.Err }

// Wrap puts the name of the call, or what happened, before an error of package rondo.
func Wrap(call string, err error) error {
	return &CallError{call, ": " + strings.TrimPrefix(err.Error(), "rondo: "), err}
}
