package rondo

// A Scope is a context.Context. Any goroutine may call the methods of that interface at any
// time: they read what the loop has published (package stdctx), and decide nothing.
//
// A context of the standard library that is made from a scope costs nothing
// until the scope is asked for Done; then the scope makes one of its own, which
// stands for it in package context. It ends with the scope.
//
// A Scope also knows why it was cancelled, and which errors only repeat that. When a scope is
// cancelled, most of its tasks end with such errors, and the scope drops them.
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
	if at, has := s.published.Deadline(); has {
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
	if stdctx.Internal(key) {
		return s.published.Value(key)
	}
	for {
		ctx := s.published.Parent()
		if ctx == nil {
			return nil
		}
		above, ok := ctx.(*Scope)
		if !ok {
			return ctx.Value(key)
		}
		s = above
	}
}

// String returns "rondo.Scope", by which package context names the scope when it prints a
// context that is derived from it.
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

// A cancellation is the event that cancelled a scope. If a scope is cancelled because a scope
// above it was, the two share one cancellation.
type cancellation struct {
	err    error  // what Err returns: context.Canceled or context.DeadlineExceeded
	cause  error  // what each wait fails with
	origin *Scope // the scope that was cancelled
	silent bool   // the cancellation is no error of origin: Cancel(nil)
	failed bool   // it stands for a failure that is among origin's errors
}

// closedScope is the cancellation of a scope that was left without having been cancelled
// before.
var closedScope = &cancellation{err: context.Canceled, cause: context.Canceled}

// Reason is for package stdctx.
func (c *cancellation) Reason() (err, cause error) { return c.err, c.cause }

// A verdict says which part of the error of a function counts in the scope that answers for the
// function. The methods of an error are the program's: they may panic, or call the loop. So
// they are called once, by judge, in the task that has returned the error, while it still runs;
// nothing that uses the verdict calls one.
type verdict struct {
	errtree.Verdict
	whole error         // the error, without what says only that the task itself was cancelled
	by    *cancellation // the cancellation that it was compared with; nil if the scope was not cancelled
}

// judge compares err, the error of a function that ran in s, with the cancellation of s.
func (s *Scope) judge(err error) *verdict {
	for {
		v := &verdict{whole: err, by: s.cancelled()}
		if v.Rest = err; v.by != nil {
			v.Verdict = v.by.judge(err)
		}
		if s.cancelled() == v.by { // else a method of err has cancelled s
			return v
		}
	}
}

// judge compares err with c. The parts that it drops say no more than that there was a
// cancellation: the cause, the error that Err returns, and errors made of these two as
// errtree.Judge describes.
//
// A panic with the error of a wait is a fault of its own. The deadline of another
// scope is another event, although its error reads the same.
func (c *cancellation) judge(err error) errtree.Verdict {
	if errtree.Identical(err, c.cause) || errtree.Identical(err, c.err) {
		return errtree.Verdict{Dropped: true} // the usual case, on a small stack
	}
	if p, ok := err.(*PanicError); ok && p != nil { // not its value, whose methods may panic again
		value, _ := p.Value.(error)
		return errtree.Verdict{Rest: err, Names: errtree.Identical(value, c.cause)}
	}
	return errtree.Judge(err, c.cause, c.err, func(err error) bool {
		switch err.(type) {
		case *PanicError, *stdctx.DeadlineError:
			return true
		}
		return false
	})
}

// beyondOwn returns the context that a scope below ctx asks for values. It skips the own scope
// of a task, which has no values and may end long before the scope below. Otherwise an endless
// chain of tasks, each started by the one before, would keep all those that have ended in
// memory.
func beyondOwn(ctx context.Context) context.Context {
	s, ok := ctx.(*Scope)
	if !ok || s.parent == nil || !s.isOwn() {
		return ctx
	}
	if _, has := s.published.Deadline(); has {
		return ctx
	}
	return s.published.Parent() // which beyondOwn has returned for s
}

// isOwn reports whether the scope is a task's own.
func (s *Scope) isOwn() bool { return s == &s.host.scope }

// detached reports whether ctx is not cancelled although the scope that it comes
// from is: context.WithoutCancel stands between the two. What is below ctx is then
// shielded from that scope. The contexts of the standard library are cancelled
// before what the scope encloses.
func detached(ctx context.Context) bool {
	_, own := ctx.(*Scope)
	return !own && ctx.Err() == nil
}
