// Package outlives starts tasks in handlers.
package outlives

import (
	"context"
	"io"
	"net"
	"net/http"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/socket"
)

func conns(ctx context.Context, room *rondo.Scope) []*socket.Server {
	return []*socket.Server{
		{Handler: func(own context.Context, c net.Conn) error {
			rondo.Go(ctx, func(context.Context) error { return c.Close() }) // want `rondo.Go with ctx, a ctx from outside: the task goes on when the handler has returned, and uses c, which is over by then: use the ctx of the handler`
			rondo.Go(room, func(context.Context) error {                    // want `rondo.Go with room, a ctx from outside`
				_, err := io.WriteString(c, "x")
				return err
			}).SetName("writer")
			rondo.Go(own, func(context.Context) error { return c.Close() })
			rondo.Go(ctx, func(ctx context.Context) error { return rondo.Yield(ctx) }) // nothing of the connection
			kept := rondo.Go(ctx, func(context.Context) error { return c.Close() })
			return kept.Wait(own)
		}},
		{Handler: named},
	}
}

var program context.Context

func named(ctx context.Context, c net.Conn) error {
	rondo.Go(program, func(context.Context) error { return c.Close() }) // want `rondo.Go with program, a ctx from outside`
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		rondo.Go(ctx, func(context.Context) error { return c.Close() }) // outlives the Group, not the handler
		return nil
	})
}

func web(ctx context.Context, l net.Listener) error {
	handle := func(w http.ResponseWriter, r *http.Request) {
		rondo.Go(ctx, func(context.Context) error { // want `rondo.Go with ctx, a ctx from outside: .* uses w, which`
			_, err := io.WriteString(w, "x")
			return err
		})
		path := r.URL.Path
		rondo.Go(ctx, func(ctx context.Context) error { _ = path; return rondo.Yield(ctx) })
	}
	return httptask.Serve(ctx, l, http.HandlerFunc(handle))
}

// helper is called by a handler, which may wait.
func helper(ctx context.Context, c net.Conn) {
	rondo.Go(program, func(context.Context) error { return c.Close() })
}
