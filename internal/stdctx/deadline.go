package stdctx

import "context"

// A DeadlineError is the cause of a scope whose deadline has passed, one for each
// scope: so that an inner deadline is not taken for an outer one. To everybody else
// it is context.DeadlineExceeded.
type DeadlineError struct{ _ byte }

// Error returns the text of context.DeadlineExceeded.
func (e *DeadlineError) Error() string { return context.DeadlineExceeded.Error() }

// Unwrap returns context.DeadlineExceeded.
func (e *DeadlineError) Unwrap() error { return context.DeadlineExceeded }

// Timeout makes it one of the errors that os.IsTimeout knows.
func (e *DeadlineError) Timeout() bool { return true }
