package rondo

// This file makes a scope a context.Context. Its methods may be called by any goroutine at
// any time; they read what the loop has published (package stdctx), and decide nothing.
//
// A context of the standard library that is made from a scope costs nothing
// until the scope is asked for Done; then the scope makes one of its own, which
// stands for it in package context. It ends with the scope.
//
// It also says what cancelled a scope, and which errors only say that it was
// cancelled. When a scope is cancelled, its tasks end with errors that say no more
// than that, and those are no errors of the scope.
//
// The law: an error that says anything more is kept, words around the cause and
// errors joined with it included. DESIGN.md, section 4, has the table.

import (
	"context"
	"math"
	"time"

	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/stdctx"
)

// never is the deadline of a scope that has none.
const never int64 = math.MaxInt64

// Deadline returns the time at which the scope will be cancelled: its own
// deadline, or an earlier one above it.
func (s *Scope) Deadline() (deadline time.Time, ok bool) {
	if at := s.published.Deadline(); at != 0 {
		deadline, ok = s.loop.driver.Time(at), true
	}
	parent := s.published.Parent()
	if s.shield || parent == nil {
		return deadline, ok
	}
	if above, has := parent.Deadline(); has && (!ok || above.Before(deadline)) {
		return above, true
	}
	return deadline, ok
}

// Done returns a channel that is closed when the scope is cancelled or has been
// left. A task must not receive from it: that would stop its loop. It is for
// other goroutines, and for the standard library.
func (s *Scope) Done() <-chan struct{} { return s.published.Std().Done() }

// Err returns nil until the scope is cancelled, and context.Canceled or
// context.DeadlineExceeded from then on. context.Cause returns the cause.
func (s *Scope) Err() error {
	if c := s.cancelled(); c != nil {
		return c.err
	}
	return nil
}

// Value returns the value of key in the ctx that the scope was opened with.
func (s *Scope) Value(key any) any {
	if key == (scopeKey{}) {
		return s
	}
	return s.published.Value(key)
}

// String says what it is: package context prints the chain of a context so.
func (s *Scope) String() string { return "rondo.Scope" }

// scopeKey is the key under which a context finds the scope it belongs to.
type scopeKey struct{}

// scopeOf returns the scope that encloses ctx most closely, or nil.
func scopeOf(ctx context.Context) *Scope {
	if s, ok := ctx.(*Scope); ok {
		return s
	}
	return scopeAround(ctx)
}

// scopeAround is scopeOf for a context of the standard library. It stands alone so that
// scopeOf is inlined.
//
//go:noinline
func scopeAround(ctx context.Context) *Scope {
	if ctx == nil {
		return nil
	}
	s, _ := ctx.Value(scopeKey{}).(*Scope)
	return s
}

// cancelled returns what cancelled the scope, or nil; once the scope is closed, never nil.
func (s *Scope) cancelled() *cancellation { return s.published.Ended() }

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

// onlyCancels reports whether err says no more than that there was a cancellation: it is
// the cause, or what Err returns, or made of such errors as errtree.Only has it.
//
// A panic with the error of a wait is a fault of its own. The deadline of another
// scope is another event, although its error reads the same.
func (c *cancellation) onlyCancels(err error) bool {
	return errtree.Only(err, func(err error) bool {
		return errtree.Same(err, c.cause) || errtree.Same(err, c.err)
	}, func(err error) bool {
		switch err.(type) {
		case *PanicError, *stdctx.DeadlineError:
			return true
		}
		return false
	})
}

// withoutCancel returns what err says beyond the cancellation, or nil, and reports
// whether something was taken off.
func (c *cancellation) withoutCancel(err error) (rest error, sawCancel bool) {
	if errtree.Identical(err, c.cause) || err == c.err {
		return nil, true // the usual case; what follows makes the stack of a task grow
	}
	return errtree.Without(err, c.onlyCancels)
}

// beyondOwn returns where the values of a scope below ctx come from. A task's own
// scope has none, and it may end long before this one. So it is left out: tasks
// that start each other, for ever, hold none of those that have ended.
func beyondOwn(ctx context.Context) context.Context {
	s, ok := ctx.(*Scope)
	if !ok || s.parent == nil || !s.isOwn() || s.published.Deadline() != 0 {
		return ctx
	}
	if above, ok := s.published.Parent().(*Scope); ok {
		return above // which beyondOwn has returned for s
	}
	return ctx // detached must not take what is above s for what is above the new one
}

// isOwn reports whether the scope is a task's own.
func (s *Scope) isOwn() bool { return s == &s.host.scope }

// detached reports whether ctx is not cancelled although the scope that it comes
// from is: context.WithoutCancel stands between the two. What is below ctx is then
// shielded from that scope. The contexts of the standard library are cancelled
// before what the scope encloses.
func detached(ctx context.Context) bool {
	_, own := ctx.(*Scope)
	return !own && ctx != nil && ctx.Err() == nil
}
