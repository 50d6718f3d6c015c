package rondo

// This file says what cancelled a scope, and which errors only say that it was
// cancelled. When a scope is cancelled, its tasks end with errors that say no more
// than that, and those are no errors of the scope. All else that they say is
// kept, also if it comes joined with such an error.

import (
	"context"
	"errors"
	"reflect"
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

// onlyCancels reports whether err says no more than that there was a cancellation:
// it is the cause itself, or says in other words that there was one. An error that
// wraps several does if each of them does. A panic never does, unless it is the
// cause itself: a task that panics with the error of its wait has a fault of its
// own.
func (c *cancellation) onlyCancels(err error) bool {
	if same(err, c.cause) || same(err, c.err) {
		return true
	}
	switch e := err.(type) {
	case *PanicError:
		return false
	case interface{ Unwrap() []error }:
		parts := e.Unwrap()
		for _, part := range parts {
			if !c.onlyCancels(part) {
				return false
			}
		}
		return len(parts) > 0
	case interface{ Unwrap() error }:
		inner := e.Unwrap()
		return inner != nil && c.onlyCancels(inner)
	}
	return false
}

// withoutCancel returns what err says beyond the cancellation, or nil, and reports
// whether something was taken off. Errors that were only joined are looked at one
// by one; any other is kept whole.
func (c *cancellation) withoutCancel(err error) (rest error, sawCancel bool) {
	if err == nil || c.onlyCancels(err) {
		return nil, err != nil
	}
	if reflect.TypeOf(err) != joined {
		return err, false
	}
	var kept []error
	for _, part := range err.(interface{ Unwrap() []error }).Unwrap() {
		rest, saw := c.withoutCancel(part)
		sawCancel = sawCancel || saw
		if rest != nil {
			kept = append(kept, rest)
		}
	}
	if !sawCancel {
		return err, false
	}
	return join(kept), true
}

var joined = reflect.TypeOf(errors.Join(context.Canceled))

// join is errors.Join that leaves a single error as it is.
func join(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// same is errors.Is without a look at what err wraps.
func same(err, target error) bool {
	if reflect.TypeOf(target).Comparable() && err == target {
		return true
	}
	e, ok := err.(interface{ Is(error) bool })
	return ok && e.Is(target)
}
