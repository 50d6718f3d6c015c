package httptask

// This file has Server: an http.Server whose handler runs in tasks, and whose end is
// that of a scope.
//
// The law: a call of Serve owns the tasks of its requests, and returns when the last of
// them has ended. They are shielded from its ctx for as long as Grace says.

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
)

// A Server is an http.Server whose handler runs in tasks. Set HTTP before the first
// call of Serve, and do not use its methods Serve, Shutdown and so on: use those of
// the Server, which suspend the task.
type Server struct {
	// HTTP has all that net/http's server can do: the handler, timeouts, TLS and
	// HTTP/2, the log. Serve changes its Handler and BaseContext.
	HTTP http.Server

	// Grace is how long requests that run may take when the ctx of Serve is
	// cancelled. Then their tasks are cancelled and the connections closed. 0 means
	// 5 s; a negative value means no time at all.
	Grace time.Duration

	once    sync.Once
	handler http.Handler                         // the user's
	base    func(l net.Listener) context.Context // the user's
	mu      sync.Mutex
	serving map[*rondo.Scope]kernel.Loop // the scopes of the calls of Serve
}

// grace is the Grace of a Server that sets none.
const grace = 5 * time.Second

// Serve calls Server.Serve of a Server that has only the handler.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	if h == nil {
		panic("rondo: httptask.Serve with a nil handler")
	}
	return (&Server{HTTP: http.Server{Handler: h}}).Serve(ctx, l)
}

// Serve accepts connections from l, and runs the handler in a task for each request,
// until Shutdown is called, ctx is cancelled, or l fails. It closes l, and returns when
// the last handler has returned. It suspends the task.
//
// When ctx is cancelled, idle connections are closed, requests that run have until
// Grace to end, and Serve returns the cause. After Shutdown it returns
// http.ErrServerClosed, and otherwise the error of Accept.
//
// l is best a listener of package net, because net/http's goroutines use it and its
// connections. A Server may serve several listeners at once, all on one loop; the end
// of one ctx ends the whole Server. On a host of a sim.Cluster, whose network goroutines
// cannot use, Serve returns an error that says so.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	mustHaveListener(l, "Serve")
	return s.run(ctx, l, s.HTTP.Serve)
}

// ServeTLS is Serve with TLS, and with HTTP/2 for clients that want it. The files have a
// certificate and its key; they may be "" if HTTP.TLSConfig has both.
func (s *Server) ServeTLS(ctx context.Context, l net.Listener, certFile, keyFile string) error {
	mustHaveListener(l, "ServeTLS")
	return s.run(ctx, l, func(l net.Listener) error { return s.HTTP.ServeTLS(l, certFile, keyFile) })
}

// ListenAndServe listens on the TCP address HTTP.Addr, ":http" if that is "", and calls
// Serve.
func (s *Server) ListenAndServe(ctx context.Context) error {
	l, err := s.listen(ctx, ":http")
	if err != nil {
		return err
	}
	return s.Serve(ctx, l)
}

// ListenAndServeTLS listens on the TCP address HTTP.Addr, ":https" if that is "", and
// calls ServeTLS.
func (s *Server) ListenAndServeTLS(ctx context.Context, certFile, keyFile string) error {
	l, err := s.listen(ctx, ":https")
	if err != nil {
		return err
	}
	return s.ServeTLS(ctx, l, certFile, keyFile)
}

// listen listens away from the loop, because the address may be a name.
func (s *Server) listen(ctx context.Context, address string) (net.Listener, error) {
	if s.HTTP.Addr != "" {
		address = s.HTTP.Addr
	}
	if err := rondo.Check(ctx); err != nil {
		return nil, err
	}
	if inCluster(loopOf(ctx, "Server")) {
		return nil, errCluster
	}
	return rondo.Offload(ctx, func(ctx context.Context) (net.Listener, error) {
		var config net.ListenConfig
		return config.Listen(ctx, "tcp", address)
	})
}

func mustHaveListener(l net.Listener, call string) {
	if l == nil {
		panic("rondo: httptask." + call + " with a nil Listener")
	}
}

// run serves l by a method of the http.Server.
func (s *Server) run(ctx context.Context, l net.Listener, serve func(net.Listener) error) (err error) {
	err = rondo.Check(ctx)
	if err == nil && inCluster(loopOf(ctx, "Server")) {
		err = errCluster
	}
	if err != nil {
		l.Close()
		return err
	}
	s.once.Do(s.takeOver)
	var cause error
	var scope *rondo.Scope
	err = rondo.Shield(ctx, func(shielded context.Context) error {
		return rondo.Group(shielded, func(g *rondo.Scope) error {
			scope = g
			l := s.add(g, l)
			served := background(g, func() error { return serve(l) })
			_, err := served.Wait(ctx)
			if cause = context.Cause(ctx); cause == nil && errors.Is(err, http.ErrServerClosed) {
				// Shutdown was called. It, or the end of ctx, ends the requests.
				_, _ = background(g, func() error { return s.HTTP.Shutdown(context.Background()) }).Wait(ctx)
				if cause = context.Cause(ctx); cause == nil {
					g.Cancel(http.ErrServerClosed) // what is left has taken its connection over
				}
			}
			if cause != nil || !errors.Is(err, http.ErrServerClosed) {
				s.drain(g)
			}
			if cause == nil {
				cause = err
			}
			return nil
		})
	})
	s.remove(scope)
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return errors.Join(cause, err)
	}
	return cause
}

// background calls fn on a goroutine, which ends when the server does.
func background(ctx context.Context, fn func() error) *rondo.Future[struct{}] {
	f := rondo.NewFuture[struct{}](ctx)
	loop, id := loopOf(ctx, "Server"), rondo.Current(ctx).ID()
	loop.GoFunc(func() {
		err := fn()
		// It comes in as all does, so that a simulation does the same each time.
		_ = loop.PostFor(id, func() {
			if err != nil {
				f.Fail(err)
			} else {
				f.Set(struct{}{})
			}
		})
	})
	return f
}

// drain gives the requests their time, and then ends them.
func (s *Server) drain(g *rondo.Scope) {
	limit := s.Grace
	if limit == 0 {
		limit = grace
	}
	if limit > 0 {
		patience, stop := context.WithCancel(context.Background())
		ended := background(g, func() error { return s.HTTP.Shutdown(patience) })
		err := rondo.Timeout(g, limit, func(ctx context.Context) error {
			_, err := ended.Wait(ctx)
			return err
		})
		stop()
		if err == nil {
			g.Cancel(http.ErrServerClosed) // what is left has taken its connection over
			return
		}
	}
	s.abort()
}

// abort cancels all tasks and closes all connections.
func (s *Server) abort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for g := range s.serving {
		g.Cancel(http.ErrServerClosed)
	}
	// Closing a connection with TLS may wait a moment.
	go s.HTTP.Close()
}

// Shutdown ends the Server gracefully: it closes the listeners and idle connections,
// waits until all requests have been answered, and returns nil. If ctx is cancelled
// first, it cancels the tasks of the remaining requests with http.ErrServerClosed,
// closes their connections, and returns the cause. Serve still waits for the handlers
// to return.
//
// As in net/http, it does not wait for connections that a handler has taken over. Any
// goroutine may call Shutdown, also more than once; it suspends a task. A handler of
// the same Server must not: it would wait for itself. A Server that was shut down
// cannot serve again.
func (s *Server) Shutdown(ctx context.Context) error {
	if ctx == nil {
		panic("rondo: httptask.Server.Shutdown with a nil context")
	}
	err := s.shutdown(ctx)
	if err != nil && !errors.Is(err, rondo.ErrNoLoop) {
		s.abort()
	}
	return err
}

// shutdown is Shutdown without the cancellation of what is left. A task is suspended, also
// one of another loop than that of the Server: requests may need that loop.
func (s *Server) shutdown(ctx context.Context) error {
	inside := func(l kernel.Loop) bool { return l != nil && l.Inside() }
	if !inside(kernel.Of(ctx)) && !inside(s.loop()) {
		err := s.HTTP.Shutdown(ctx)
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return err
	}
	if err := rondo.Check(ctx); errors.Is(err, rondo.ErrNoLoop) {
		return err
	}
	patience, stop := context.WithCancel(context.Background())
	defer stop()
	_, err := background(ctx, func() error { return s.HTTP.Shutdown(patience) }).Wait(ctx)
	return err
}
