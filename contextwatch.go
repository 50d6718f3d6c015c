package rondo

// Contexts of the standard library, such as that of context.WithCancel(ctx), cancel scopes and
// end waits. Such a context stands between a scope, or a wait, and the scope above it.
//
// The law: a context may be of a type that the program defines, and its methods may panic. So
// they are called in the task that passes the context, before a scope or a wait has begun. From
// then on only its Done channel is read. When that is closed, cancellationOf calls Err and Value,
// and recovers. Package context calls back on a goroutine of its own, which must not touch the
// loop: so the callback only posts to the loop.

import (
	"cmp"
	"context"

	"github.com/rondo-go/rondo/internal/stdctx"
)

// watchContext makes the cancellation of ctx cancel s, which is not in the tree yet. If ctx is
// cancelled already, it returns the cancellation. If ctx is the scope above s, or shares its Done
// channel, there is nothing to watch. A scope of another loop, which may be passed to Run, is
// treated as any other context.
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

// detached reports whether s was opened with a ctx that is not cancelled. If the scope above is
// cancelled, there is a context.WithoutCancel between the two, and s is shielded. Without it
// the ctx would be cancelled too, because a scope cancels the contexts of the standard library
// made from it before the scopes below it.
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
	if p, ok := c.cause.(*PanicError); ok && p != nil && p.Task == "" {
		p.Task = s.host.Name()
		c.cause = s.loop.panicked(s.host, p.Task, p)
	}
	s.cancel(c)
}

// onCancel arranges to call fn on the loop when ctx is cancelled, unless stop is called first.
// done is the Done channel of ctx.
func (l *Loop) onCancel(ctx context.Context, done <-chan struct{}, fn func(c *cancellation)) (stop func()) {
	look := func() { fn(cancellationOf(ctx)) }
	post := func() {
		c := cancellationOf(ctx)
		_ = l.post(func() { fn(c) })
	}
	end, wakers := l.watch(ctx, done, look, post, func(fn func()) func() {
		stop := stdctx.AfterDone(ctx, done, goFunc)(fn)
		return func() { stop() }
	})
	l.addWaker(wakers)
	return func() {
		l.addWaker(-wakers)
		end()
	}
}

// cancellationOf returns the cancellation of ctx, which must be cancelled already. It calls
// methods of ctx outside of any task. If one panics, the cause is a PanicError without the name
// of a task.
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

// errOf returns ctx.Err() of a cancelled context, or context.Canceled if that is neither of the
// two errors that package context allows.
func errOf(ctx context.Context) error {
	if ctx.Err() == context.DeadlineExceeded {
		return context.DeadlineExceeded
	}
	return context.Canceled
}

// causeOf returns context.Cause(ctx) of a cancelled context, or context.Canceled if that is nil.
func causeOf(ctx context.Context) error {
	return cmp.Or(context.Cause(ctx), context.Canceled)
}
