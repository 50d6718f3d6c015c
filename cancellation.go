package rondo

// This file says what cancelled a scope, and which errors only say that it was
// cancelled. When a scope is cancelled, its tasks end with errors that say no more
// than that, and those are no errors of the scope.
//
// The law: an error that says anything more is kept, words around the cause and
// errors joined with it included. DESIGN.md, section 4, has the table.

import (
	"context"
	"errors"
	"slices"

	"github.com/rondo-go/rondo/internal/errtree"
)

// A cancellation is what cancelled a scope. A scope that is cancelled because one
// above it was has that one's cancellation.
type cancellation struct {
	err    error  // what Err returns: context.Canceled or context.DeadlineExceeded
	cause  error  // what each wait fails with
	origin *Scope // the scope that was cancelled
	silent bool   // the cancellation is no error of origin: Cancel(nil)
	failed bool   // it stands for a failure that is among origin's errors
}

// closedScope is the end of a scope that was left without having been cancelled.
var closedScope = &cancellation{err: context.Canceled, cause: context.Canceled}

// Reason is for package stdctx.
func (c *cancellation) Reason() (err, cause error) { return c.err, c.cause }

// onlyCancels reports whether err says no more than that there was a cancellation.
// It is the cause itself, or what Err returns; or several such errors that were
// only joined; or one behind the name of an operation, such as a *net.OpError.
//
// A panic with the error of a wait is a fault of its own. The deadline of another
// scope is another event, although its error reads the same.
func (c *cancellation) onlyCancels(err error) bool {
	if errtree.Same(err, c.cause) || errtree.Same(err, c.err) {
		return true
	}
	switch err.(type) {
	case *PanicError, *deadlineError:
		return false
	}
	if parts := errtree.Joined(err); parts != nil {
		return !slices.ContainsFunc(parts, func(part error) bool { return !c.onlyCancels(part) })
	}
	inner := errors.Unwrap(err)
	return inner != nil && errtree.NamesOperation(err) && c.onlyCancels(inner)
}

// withoutCancel returns what err says beyond the cancellation, or nil, and reports
// whether something was taken off. Errors that were only joined are looked at one
// by one; any other is kept whole.
func (c *cancellation) withoutCancel(err error) (rest error, sawCancel bool) {
	if err == nil || c.onlyCancels(err) {
		return nil, err != nil
	}
	var kept []error
	for _, part := range errtree.Joined(err) {
		rest, saw := c.withoutCancel(part)
		sawCancel = sawCancel || saw
		if rest != nil {
			kept = append(kept, rest)
		}
	}
	if !sawCancel {
		return err, false
	}
	return errtree.Join(kept), true
}
