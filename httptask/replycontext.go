package httptask

// The context of a request of an engine.

import (
	"context"
	"net/http"
	"time"
)

// A replyContext is the scope of a handler, with the values of what BaseContext and
// ConnContext have returned.
type replyContext struct {
	context.Context // the scope
	n               *connection
}

func (c *replyContext) Deadline() (time.Time, bool) {
	deadline, ok := c.Context.Deadline()
	if d, has := c.n.base.Deadline(); has && (!ok || d.Before(deadline)) {
		return d, true
	}
	return deadline, ok
}

// Value answers what names the scope from the scope: the context of a server may descend
// from another one.
func (c *replyContext) Value(key any) any {
	if key == scopeKey || key == cancelKey {
		return c.Context.Value(key)
	}
	if _, ok := key.(ownerKey); ok {
		return c.n
	}
	if key == http.LocalAddrContextKey {
		return c.n.conn.LocalAddr()
	}
	if v := c.n.base.Value(key); v != nil {
		return v
	}
	return c.Context.Value(key)
}
