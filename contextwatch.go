package rondo

// Contexts of the standard library cancel scopes and end waits. Such a context stands
// between a scope, or a wait, and the scope above it.
//
// The law: a context may be the program's own, and its methods too. They are called in the
// task that has brought it, before anything has begun; from then on only the channel of its Done
// is looked at, and when that is closed, cancellationOf asks why, where a panic hurts nobody else.
// Package context calls back on a goroutine of its own, which may touch nothing of the loop. So
// what it calls comes in by the inbox.

import (
	"cmp"
	"context"

	"github.com/rondo-go/rondo/internal/stdctx"
)

// watchContext cancels s, which is not in the tree yet, when ctx is cancelled; if it is already,
// it returns the cancellation. If ctx is the scope above s, or ends when that does, there is
// nothing to watch. A scope of another loop, as Run may be given, is a context like any other.
func (s *Scope) watchContext(ctx context.Context) *cancellation {
	if above, own := ctx.(*Scope); own && above.loop == s.loop {
		return nil
	}
	done, above := ctx.Done(), scopeAround(ctx)
	if above != nil && above.loop == s.loop && done == above.Done() {
		return nil
	}
	x := s.ensureExtra()
	if x.above = done; done == nil {
		x.above = neverDone
		return nil
	}
	select {
	case <-done:
		return &cancellation{err: errOf(ctx), cause: causeOf(ctx)}
	default:
	}
	x.unwatch = s.loop.onCancel(ctx, done, s.ended)
	return nil
}

// neverDone is the channel of a context that is never cancelled.
var neverDone = make(chan struct{})

// detached reports whether s was opened with a ctx that is not cancelled although the scope
// above it is: context.WithoutCancel stands between the two. Then s is shielded from that scope.
// The contexts of the standard library are cancelled before what the scope encloses.
func (s *Scope) detached() bool {
	if s.extra == nil || s.extra.above == nil {
		return false
	}
	select {
	case <-s.extra.above:
		return false
	default:
		return true
	}
}

// ended is called on the loop when the context that s was opened with is cancelled.
func (s *Scope) ended(c *cancellation) {
	if s.cancelled() != nil {
		return
	}
	if p, ok := c.cause.(*PanicError); ok && p.Task == "" {
		p.Task = s.host.Name()
		c.cause = s.loop.panicked(s.host, p.Task, p)
	}
	s.cancel(c)
}

// onCancel calls fn on the loop when ctx, of which done is the channel, is cancelled, unless
// stop comes first.
func (l *Loop) onCancel(ctx context.Context, done <-chan struct{}, fn func(c *cancellation)) (stop func()) {
	look := func() { fn(cancellationOf(ctx)) }
	post := func() {
		c := cancellationOf(ctx)
		_ = l.post(func() { fn(c) })
	}
	end, wakers := l.watch(ctx, done, look, post, func(fn func()) func() { return afterDone(ctx, done, fn) })
	l.addWaker(wakers)
	return func() {
		l.addWaker(-wakers)
		end()
	}
}

// afterDone is context.AfterFunc. If ctx has an end of its own, package context would call
// methods of ctx on a goroutine, where a panic ends the program, and again when the watch ends;
// so that one is watched by its channel alone.
func afterDone(ctx context.Context, done <-chan struct{}, fn func()) (stop func()) {
	if decider := stdctx.Decider(ctx, done); decider != nil {
		end := context.AfterFunc(decider, fn)
		return func() { end() }
	}
	stopped := make(chan struct{})
	goFunc(func() {
		select {
		case <-done:
			fn()
		case <-stopped:
		}
	})
	return func() { close(stopped) }
}

// cancellationOf asks ctx, which is cancelled, why. The methods of ctx may be the program's, and
// no task has called them: the panic of one is the cause, a PanicError without a task.
func cancellationOf(ctx context.Context) (c *cancellation) {
	c = &cancellation{err: context.Canceled, cause: context.Canceled}
	defer func() {
		if v := recover(); v != nil {
			c.cause = panicError(nil, "", v)
		}
	}()
	c.err, c.cause = errOf(ctx), causeOf(ctx)
	return c
}

// errOf is Err of a context that is cancelled: one of the two errors that Err may return.
func errOf(ctx context.Context) error {
	if ctx.Err() == context.DeadlineExceeded {
		return context.DeadlineExceeded
	}
	return context.Canceled
}

// causeOf is context.Cause of a context that is cancelled.
func causeOf(ctx context.Context) error {
	return cmp.Or(context.Cause(ctx), context.Canceled)
}
