package rondo

// This file says which errors are news. When a scope is cancelled, its tasks end
// with errors that say no more than that: they are echoes, and no errors of the
// scope. All else that they say is kept, also if it comes joined with an echo.

import (
	"context"
	"errors"
	"reflect"
)

// A verdict is what cancelled a scope. A scope that is cancelled because one
// above it was has that one's verdict.
type verdict struct {
	err    error  // what Err says: context.Canceled or context.DeadlineExceeded
	cause  error  // what each wait fails with
	origin *Scope // the scope that was cancelled
	silent bool   // the cancellation is no error of origin: Cancel(nil)
	failed bool   // it stands for a failure that is among origin's errors
}

// explains tells whether err is no more than the echo of the cancellation: the
// cause itself, or what says in other words that there was one. An error that
// wraps several is an echo if each of them is. A panic never is, unless it is
// the cause itself: a task that panics with the error of its wait has a fault of
// its own.
func (v *verdict) explains(err error) bool {
	if same(err, v.cause) || same(err, v.err) {
		return true
	}
	switch e := err.(type) {
	case *PanicError:
		return false
	case interface{ Unwrap() []error }:
		parts := e.Unwrap()
		for _, part := range parts {
			if !v.explains(part) {
				return false
			}
		}
		return len(parts) > 0
	case interface{ Unwrap() error }:
		inner := e.Unwrap()
		return inner != nil && v.explains(inner)
	}
	return false
}

// news gives what err says beyond the echo, or nil, and whether there was an
// echo to take off. Errors that were only joined are looked at one by one; any
// other is kept whole.
func (v *verdict) news(err error) (news error, echo bool) {
	if err == nil || v.explains(err) {
		return nil, err != nil
	}
	if reflect.TypeOf(err) != joined {
		return err, false
	}
	var kept []error
	for _, part := range err.(interface{ Unwrap() []error }).Unwrap() {
		rest, off := v.news(part)
		echo = echo || off
		if rest != nil {
			kept = append(kept, rest)
		}
	}
	if !echo {
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
