package kernel

import "errors"

// ErrClosed is rondo.ErrClosed.
var ErrClosed = errors.New("rondo: closed")

// Closed returns an error that says what was closed, and that errors.Is joins with ErrClosed.
// It wraps nothing: an error that wraps another seems to say more than that one does.
func Closed(text string) error { return &closedError{text} }

type closedError struct{ text string }

func (e *closedError) Error() string { return e.text }

func (e *closedError) Is(target error) bool { return target == ErrClosed }
