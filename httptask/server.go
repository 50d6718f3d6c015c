package httptask

// A Server is an http.Server whose handlers run in tasks, and whose end is that of a scope.
// An engine serves HTTP/1, also over TLS; net/http serves the rest.
//
// The law: a call of Serve owns the tasks of its requests, and returns when the last of
// them has ended. They are shielded from its ctx for as long as Grace says.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/socket"
)

// A Server is an http.Server whose handler runs in tasks. It speaks HTTP/1 itself, on the kinds
// of listeners that the comment of Serve lists; HTTP/2 and other listeners are left to
// net/http, on goroutines of its own, and only the handlers are tasks there. Set HTTP before
// the first call of Serve, and do not use its methods Serve, Shutdown and so on: use those of
// the Server, which suspend the task.
type Server struct {
	// HTTP has all that net/http's server can do: the handler, timeouts, TLS and HTTP/2, the
	// log. If net/http serves some of the connections, Serve replaces its Handler and
	// BaseContext. ConnState and ConnContext get a *socket.Conn or a *socket.TLSConn. When a
	// connection is handed over to net/http, ConnState is called with StateHijacked. net/http
	// then calls ConnState and ConnContext for a new connection of its own.
	HTTP http.Server

	// MaxConns is how many connections are served at once, over all loops; more are accepted
	// when one ends. A connection that net/http serves is not counted, nor is one that the
	// program has taken over without a Session, once the handler that has taken it has returned.
	// 0 means no limit; Serve panics if it is negative.
	//
	// If net/http would serve all connections of a listener, MaxConns cannot limit them and
	// Serve returns an error. Wrap such a listener in a netutil.LimitListener instead of
	// setting MaxConns.
	MaxConns int

	// Grace is how long requests that run may take when the ctx of Serve is
	// cancelled. Then their tasks are cancelled and the connections closed. A handler that
	// has taken its connection over has that time too. 0 means 5 s; a negative value means
	// no time at all.
	Grace time.Duration

	once    sync.Once
	handler http.Handler                         // the user's
	base    func(l net.Listener) context.Context // the user's
	mu      sync.Mutex
	serving map[*rondo.Scope]*handler // by the scopes of the calls of Serve that net/http has a part in
	engines []*engine
	past    socket.Stats // of the engines that have ended
	ended   bool         // Shutdown was called
	by      time.Time    // when handlers are cancelled that have taken their connection over
	quiet   *quiet

	noKeepAlive atomic.Bool
}

// grace returns how long requests may take at the end.
func (s *Server) grace() time.Duration { return cmp.Or(s.Grace, 5*time.Second) }

// left returns how long handlers may still run that have taken their connection over. The end
// has begun: they have until the deadline of the Shutdown, or the Grace from the first call on.
func (s *Server) left(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by.IsZero() {
		s.by = now.Add(max(s.grace(), 0))
	}
	return max(s.by.Sub(now), 0)
}

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
// The connections of a *net.TCPListener, *net.UnixListener or *socket.Listener are served by
// tasks: the standard library parses the requests, and no goroutine of net/http has a part in
// it. An idle connection has no task and no buffer. Hijack gives a *socket.Conn. On a host of a
// sim.Cluster l is a *socket.Listener of that host. If HTTP.Protocols allow HTTP/2 without TLS, a
// client that begins with it is handed over to net/http. net/http serves the connections of any
// other listener, and all of them where Rondo uses neither epoll nor kqueue; the handlers run in
// tasks all the same.
//
// A Server may serve several listeners at once, all on one loop; the end of one ctx ends the
// whole Server. To serve on several loops, give it to shard.Serve.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	s.mustServe(l, "Serve")
	if s.owns(ctx, l) {
		return s.serveOn(ctx, l, nil)
	}
	if err := s.limits(l); err != nil {
		return err
	}
	return s.run(ctx, l, s.HTTP.Serve)
}

// ServeTLS is Serve with TLS, and with HTTP/2 for clients that want it: after the handshake
// such a connection is handed over to net/http, and so is one of another protocol of
// HTTP.TLSNextProto. On a host of a sim.Cluster, whose network goroutines cannot use, no HTTP/2
// is offered. Hijack gives a *socket.TLSConn. A handshake computes on the loop, and may last as
// long as the least of ReadHeaderTimeout, ReadTimeout and WriteTimeout, or 10 s. The files have
// a certificate and its key; they may be "" if HTTP.TLSConfig has both.
func (s *Server) ServeTLS(ctx context.Context, l net.Listener, certFile, keyFile string) error {
	s.mustServe(l, "ServeTLS")
	if s.owns(ctx, l) {
		secure, err := s.secure(ctx, s.HTTP.TLSConfig, certFile, keyFile, s.offersHTTP2() && !clustered(ctx))
		if err != nil {
			l.Close()
			return err
		}
		return s.serveOn(ctx, l, secure)
	}
	if err := s.limits(l); err != nil {
		return err
	}
	return s.run(ctx, l, func(l net.Listener) error { return s.HTTP.ServeTLS(l, certFile, keyFile) })
}

// limits fails if there is a limit that net/http, which is to serve l, does not know.
func (s *Server) limits(l net.Listener) error {
	if s.MaxConns == 0 {
		return nil
	}
	_ = l.Close()
	return fmt.Errorf("httptask: MaxConns with a %T, whose connections net/http serves: "+
		"serve a *net.TCPListener, or wrap the listener in a netutil.LimitListener in place of MaxConns: %w", l, errors.ErrUnsupported)
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

// mustServe panics if l, or the Server, cannot be served.
func (s *Server) mustServe(l net.Listener, call string) {
	switch {
	case l == nil:
		panic("rondo: httptask." + call + " with a nil Listener")
	case s.MaxConns < 0:
		panic("rondo: httptask." + call + " with a negative MaxConns: 0 means no limit")
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
	var late *rondo.Handle
	err = rondo.Shield(ctx, func(shielded context.Context) error {
		return rondo.Group(shielded, func(g *rondo.Scope) error {
			scope = g
			l := s.add(g, l)
			served := background(g, func() error { return serve(l) })
			_, err := served.Wait(ctx)
			if cause = context.Cause(ctx); cause == nil && errtree.Is(err, http.ErrServerClosed) {
				// Shutdown was called. It, or the end of ctx, ends the requests.
				s.left(rondo.Now(g))
				_, _ = background(g, func() error { return s.quiesce(context.Background()) }).Wait(ctx)
				if cause = context.Cause(ctx); cause == nil {
					late = s.cancelTaken(g)
				}
			}
			if cause != nil || !errtree.Is(err, http.ErrServerClosed) {
				late = s.drain(g)
			}
			if cause == nil {
				cause = err
			}
			return nil
		})
	})
	if late != nil {
		late.Cancel()
	}
	s.remove(scope)
	if err != nil && !errtree.Is(err, http.ErrServerClosed) {
		return errors.Join(cause, err)
	}
	return cause
}

// background calls fn on a goroutine, which ends when the server does. A panic of fn is its error:
// fn calls the program's listener and the hooks of the http.Server.
func background(ctx context.Context, fn func() error) *rondo.Future[struct{}] {
	f := rondo.NewFuture[struct{}](ctx)
	loop, id := loopOf(ctx, "Server"), rondo.Current(ctx).ID()
	loop.GoFunc(func() {
		err := errUnreturned
		// It comes in as all does, so that a simulation does the same each time.
		defer loop.PostFor(id, func() {
			if err != nil {
				f.Fail(err)
			} else {
				f.Set(struct{}{})
			}
		})
		err = contain("net/http's part of a Server", fn)
	})
	return f
}

// cancelTaken cancels g when the handlers that have taken their connection over have had their
// time. No others are left.
func (s *Server) cancelTaken(g *rondo.Scope) *rondo.Handle {
	return rondo.LoopOf(g).CallLater(s.left(rondo.Now(g)), func() { g.Cancel(http.ErrServerClosed) })
}

// drain gives the requests their time, and then ends them. What it returns ends the handlers that
// have taken their connection over; nil if all are ended.
func (s *Server) drain(g *rondo.Scope) *rondo.Handle {
	if limit := s.grace(); limit > 0 {
		s.left(rondo.Now(g))
		patience, stop := context.WithCancel(context.Background())
		ended := background(g, func() error { return s.quiesce(patience) })
		err := rondo.Timeout(g, limit, func(ctx context.Context) error {
			_, err := ended.Wait(ctx)
			return err
		})
		stop()
		if err == nil {
			return s.cancelTaken(g)
		}
	}
	s.abort()
	return nil
}

// abort cancels all tasks and closes all connections.
func (s *Server) abort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var loop kernel.Loop
	for g, h := range s.serving {
		g.Cancel(http.ErrServerClosed)
		loop = h.loop // all have the same
	}
	q := s.quiet
	// Closing a connection with TLS may wait a moment.
	go func() {
		if q != nil {
			defer q.stop()
		}
		notice(loop, contain("Close of a http.Server", s.HTTP.Close))
	}()
}

// A quiet is the call of http.Server's Shutdown. There is one: each calls the functions of
// RegisterOnShutdown.
type quiet struct {
	stop context.CancelFunc
	done chan struct{} // closed when it has returned
	err  error
}

// quiesce ends the part of net/http gracefully, and waits until that is done or ctx is
// cancelled, whose error it returns then. It blocks.
func (s *Server) quiesce(ctx context.Context) error {
	q := s.beginQuiet()
	select {
	case <-q.done:
		return q.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Server) beginQuiet() *quiet {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quiet == nil {
		patience, stop := context.WithCancel(context.Background())
		q := &quiet{stop: stop, done: make(chan struct{}), err: errUnreturned}
		s.quiet = q
		go func() {
			defer close(q.done)
			q.err = contain("Shutdown of a http.Server", func() error { return s.HTTP.Shutdown(patience) })
		}()
	}
	return s.quiet
}

// Shutdown ends the Server gracefully: it closes the listeners and idle connections, waits until
// all requests have been answered, and returns nil. A connection of which a part of a request's
// head has come is idle, too; a new one has 5 s to send the rest, and as long for a handshake of
// TLS. If ctx is cancelled first, it cancels the tasks of the remaining requests with
// http.ErrServerClosed, closes their connections, and returns the cause. Serve still waits for the
// handlers to return.
//
// A handler that has taken its connection over has until the deadline of ctx to end; without
// one, it has Grace. Then it is cancelled with http.ErrServerClosed. It can learn of the
// Shutdown by a function of HTTP.RegisterOnShutdown. Serve waits for such a handler, and
// Shutdown does if the Server serves the connection itself. In net/http neither does. The same
// holds for a call of a Session.
//
// Any goroutine may call Shutdown, also more than once; it suspends a task. A handler of the
// same Server must not, nor a call of a Session, because it would wait for itself: with its ctx,
// it panics. A Server that was shut down cannot serve again.
func (s *Server) Shutdown(ctx context.Context) error {
	if ctx == nil {
		panic("rondo: httptask.Server.Shutdown with a nil context")
	}
	if kernel.InsideAny() && rondo.Current(ctx) == nil { // it would block its loop
		return rondo.Check(ctx)
	}
	if server, _ := ctx.Value(http.ServerContextKey).(*http.Server); server == &s.HTTP && kernel.InsideAny() {
		panic("rondo: httptask.Server.Shutdown in a handler of the same Server would wait for itself: call it in a task of the scope around Serve")
	}
	if known, err := s.shutdownOwn(ctx); known {
		return err
	}
	err := s.shutdown(ctx)
	if err != nil {
		s.abort()
	}
	return err
}

// shutdown is Shutdown without the cancellation of what is left. A task is suspended, also
// one of another loop than that of the Server: requests may need that loop.
func (s *Server) shutdown(ctx context.Context) error {
	if !kernel.InsideAny() {
		err := s.quiesce(ctx)
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return err
	}
	patience, stop := context.WithCancel(context.Background())
	defer stop()
	_, err := background(ctx, func() error { return s.quiesce(patience) }).Wait(ctx)
	return err
}
