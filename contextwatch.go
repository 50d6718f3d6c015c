package rondo

// This file lets contexts of the standard library cancel scopes and end waits.
// Such a context stands between a scope, or a wait, and the scope above it.
//
// The law: on the real driver package context calls back, on a goroutine of its
// own, and the call comes in by the inbox. When that happens cannot be repeated,
// so a simulated loop looks at the contexts itself, once a turn (internal/ctxwatch).

import (
	"context"

	"github.com/rondo-go/rondo/internal/driver"
)

// watchContext cancels s when ctx is cancelled. above is the scope next above ctx. If
// nothing stands between the two that could be cancelled, there is nothing to watch.
func (s *Scope) watchContext(ctx context.Context, above *Scope) {
	if ctx.Done() == nil || above != nil && (context.Context(above) == ctx || ctx.Done() == above.Done()) {
		return
	}
	s.ensureExtra().unwatch = s.loop.onCancel(ctx, func() { s.cancel(cancellationOf(ctx)) })
	if ctx.Err() != nil {
		s.cancel(cancellationOf(ctx))
	}
}

// onCancel calls fn on the loop when ctx is cancelled, unless stop comes first.
func (l *Loop) onCancel(ctx context.Context, fn func()) (stop func() bool) {
	var end func() bool
	switch {
	case !l.virtual:
		end = context.AfterFunc(ctx, func() { _ = l.post(fn) })
	case !driver.Settles(l.driver):
		return l.contexts.Add(ctx, fn)
	default: // the clock of ctx is the loop's, so its end also ends the loop's sleep
		unwatch, asleep := l.contexts.Add(ctx, fn), context.AfterFunc(ctx, l.driver.Wake)
		end = func() bool { asleep(); return unwatch() }
	}
	// One that can only be cancelled does not hide a deadlock; one with a deadline will wake the loop.
	wakes := 0
	if _, has := ctx.Deadline(); has {
		wakes = 1
	}
	l.addWaker(wakes)
	return func() bool {
		l.addWaker(-wakes)
		return end()
	}
}

// pollContexts makes ready what the contexts that are cancelled were watched for.
func (l *Loop) pollContexts() {
	l.contexts.Look(func(fn func()) { l.queue.Add(entry{call: &Handle{loop: l, fn: fn}}) })
}

func cancellationOf(ctx context.Context) *cancellation {
	return &cancellation{err: ctx.Err(), cause: context.Cause(ctx)}
}
