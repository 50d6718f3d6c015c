package rondo

// This file lets contexts of the standard library cancel scopes and end waits.
// Such a context stands between a scope, or a wait, and the scope above it.
//
// The law: on the real driver package context calls back, on a goroutine of its
// own, and the call comes in by the inbox. When that happens cannot be repeated,
// so a simulated loop looks at the contexts itself, once a turn.

import (
	"context"
	"slices"
)

// watchContext cancels s when ctx is cancelled. above is the scope next above ctx.
// If nothing stands between the two that could be cancelled, there is nothing to
// watch.
func (s *Scope) watchContext(ctx context.Context, above *Scope) {
	if ctx.Done() == nil || above != nil && (context.Context(above) == ctx || ctx.Done() == above.Done()) {
		return
	}
	s.ensureExtra().unwatch = s.loop.onCancel(ctx, func() { s.cancel(cancellationOf(ctx)) })
	if ctx.Err() != nil {
		s.cancel(cancellationOf(ctx))
	}
}

// A ctxWatch is a context that a simulated loop watches itself.
type ctxWatch struct {
	ctx context.Context
	fn  func() // nil once it has been called
}

// onCancel calls fn on the loop when ctx is cancelled, unless stop comes first.
func (l *Loop) onCancel(ctx context.Context, fn func()) (stop func() bool) {
	if l.virtual {
		w := &ctxWatch{ctx, fn}
		l.contexts = append(l.contexts, w)
		return func() bool {
			l.contexts = slices.DeleteFunc(l.contexts, func(other *ctxWatch) bool { return other == w })
			return w.fn != nil
		}
	}
	// A context that can only be cancelled does not hide a deadlock; one with a
	// deadline will wake the loop.
	wakes := 0
	if _, has := ctx.Deadline(); has {
		wakes = 1
	}
	l.addWaker(wakes)
	end := context.AfterFunc(ctx, func() { _ = l.post(entry{call: &Handle{fn: fn}}) })
	return func() bool {
		l.addWaker(-wakes)
		return end()
	}
}

// pollContexts makes ready what the contexts that are cancelled were watched for.
func (l *Loop) pollContexts() {
	for _, w := range l.contexts {
		if w.fn != nil && w.ctx.Err() != nil {
			l.queue.Add(entry{call: &Handle{loop: l, fn: w.fn}})
			w.fn = nil
		}
	}
}

func cancellationOf(ctx context.Context) *cancellation {
	return &cancellation{err: ctx.Err(), cause: context.Cause(ctx)}
}
