package httptask

// The context of a handler's task is the scope of the task, with the values of
// the request.

import (
	"context"
	"time"

	"github.com/rondo-go/rondo/internal/kernel"
)

// A requestContext is what the scope of a handler's task begins with. Its
// cancellation is that of the scope given to Handler, its values are those of the
// request, and below them those of that scope.
type requestContext struct {
	context.Context // the ctx given to Handler
	request         context.Context
	exchange        *exchange
}

// Deadline returns the earlier deadline of the two.
func (c *requestContext) Deadline() (time.Time, bool) {
	deadline, ok := c.Context.Deadline()
	if d, has := c.request.Deadline(); has && (!ok || d.Before(deadline)) {
		return d, true
	}
	return deadline, ok
}

// Value returns the request's value of key, or else that of the scope. What names the
// scope must come from the scope: the context of a server may descend from another.
func (c *requestContext) Value(key any) any {
	if key == scopeKey || key == cancelKey {
		return c.Context.Value(key)
	}
	if _, ok := key.(ownerKey); ok && c.exchange != nil {
		return c.exchange
	}
	if v := c.request.Value(key); v != nil {
		return v
	}
	return c.Context.Value(key)
}

// The keys by which package rondo finds a context's scope, and package context the
// next context that can be cancelled.
var (
	scopeKey  = keyOf(func(ctx context.Context) { kernel.Of(ctx) })
	cancelKey = keyOf(func(ctx context.Context) { _ = context.Cause(ctx) })
)

// keyOf returns the key for whose value a function asks.
func keyOf(ask func(ctx context.Context)) (key any) {
	ask(asked{context.Background(), &key})
	return key
}

type asked struct {
	context.Context
	key *any
}

func (a asked) Value(key any) any {
	*a.key = key
	return nil
}
