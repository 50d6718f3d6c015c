package httptask

// The calls of Serve for which a Server has an engine.

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/peer"
	"github.com/rondo-go/rondo/socket"
)

// owns reports whether an engine serves the connections of a listener, if they speak HTTP/1:
// those of sockets of the system or of a simulated cluster. net/http serves the others, and
// those of a system on which a loop cannot watch a client without a goroutine.
func (s *Server) owns(ctx context.Context, l net.Listener) bool {
	if p := s.HTTP.Protocols; p != nil && !p.HTTP1() && (p.HTTP2() || p.UnencryptedHTTP2()) {
		return false
	}
	switch l.(type) {
	case *net.TCPListener, *net.UnixListener:
		return peer.Watches && !clustered(ctx)
	case *socket.Listener:
		return peer.Watches || clustered(ctx)
	}
	return false
}

// clustered reports whether ctx is that of a task on a host of a simulated cluster.
func clustered(ctx context.Context) bool {
	loop := kernel.Of(ctx)
	return loop != nil && inCluster(loop)
}

// handsOver reports whether net/http serves a part of the connections of an engine. It has no
// part in a cluster, whose network its goroutines cannot use.
func (s *Server) handsOver(ctx context.Context, secured bool) bool {
	if clustered(ctx) {
		return false
	}
	if secured {
		return s.offersHTTP2() || len(s.HTTP.TLSNextProto) > 0
	}
	return s.HTTP.Protocols != nil && s.HTTP.Protocols.UnencryptedHTTP2()
}

// newEngine returns the engine for l, with TLS if secure is not nil, on the loop of ctx.
func (s *Server) newEngine(ctx context.Context, l net.Listener, secure *tls.Config) *engine {
	hands := s.handsOver(ctx, secure != nil)
	if hands {
		s.once.Do(s.takeOver)
	}
	h, base := s.HTTP.Handler, s.HTTP.BaseContext
	if s.handler != nil { // net/http has a part in the Server
		h, base = s.handler, s.base
	}
	e := newEngine(&s.HTTP, h, base, l, secure, &s.noKeepAlive)
	e.server.MaxConns = s.MaxConns
	s.bind(ctx, e, hands)
	return e
}

// bind gives e its loop, that of ctx. hands says that net/http serves a part of its connections.
func (s *Server) bind(ctx context.Context, e *engine, hands bool) {
	e.loop, e.own, e.left = rondo.LoopOf(ctx), loopOf(ctx, "Server.Serve"), func() time.Duration { return s.left(rondo.Now(ctx)) }
	if hands {
		e.other = newHandover(e.listener)
		e.other.base = e.base
	}
}

// serveOn serves l by an engine, with TLS if secure is not nil, on one loop.
func (s *Server) serveOn(ctx context.Context, l net.Listener, secure *tls.Config) error {
	if err := rondo.Check(ctx); err != nil {
		l.Close()
		return err
	}
	begun := false
	defer func() {
		if !begun { // BaseContext has panicked
			l.Close()
		}
	}()
	e := s.newEngine(ctx, l, secure)
	begun = true
	return s.serveOwn(ctx, e, func(ctx context.Context) error { return e.server.Serve(ctx, l) })
}

// serveOwn serves by an engine, as Serve does.
func (s *Server) serveOwn(ctx context.Context, e *engine, serve func(ctx context.Context) error) error {
	if !s.addEngine(e) {
		e.listener.Close()
		return http.ErrServerClosed
	}
	defer s.removeEngine(e)
	var end error
	cut := false
	err := s.shielded(ctx, e, func(ctx context.Context) error {
		end = serve(ctx)
		return nil
	}, func(g *rondo.Scope, _ *rondo.Task) {
		cut = true
		// What has not ended by then is cancelled; Serve waits for it.
		_ = rondo.Timeout(g, max(s.grace(), 0), func(ctx context.Context) error {
			_, err := s.shutdownOwn(ctx)
			return err
		})
	})
	if cut {
		end = context.Cause(ctx)
	}
	if errtree.Is(end, socket.ErrServerClosed) {
		end = http.ErrServerClosed
	}
	if err != nil {
		return errors.Join(end, err)
	}
	return end
}

// shielded calls serve in a task, with net/http beside it for what e hands over. Cancellation of
// ctx reaches neither: it has cancel called, and serve is still waited for. The tasks below serve
// know by their ctx that they belong to the Server; see Shutdown.
func (s *Server) shielded(ctx context.Context, e *engine, serve func(ctx context.Context) error, cancel func(g *rondo.Scope, served *rondo.Task)) error {
	err := rondo.Shield(ctx, func(shielded context.Context) error {
		return rondo.Group(shielded, func(g *rondo.Scope) error {
			served := g.Go(func(ctx context.Context) error {
				return serve(context.WithValue(ctx, http.ServerContextKey, &s.HTTP))
			})
			if e.other != nil {
				defer e.other.Close()
				g.Go(func(ctx context.Context) error {
					err := s.run(ctx, e.other, s.HTTP.Serve)
					if errtree.Is(err, http.ErrServerClosed) || errtree.Is(err, net.ErrClosed) {
						err = nil
					}
					return err
				})
			}
			if served.Wait(ctx) != nil {
				cancel(g, served)
				_ = served.Wait(g)
			}
			return nil
		})
	})
	if e.late == nil {
		e.late = new(rondo.Handle) // a Shutdown comes too late
	}
	e.late.Cancel()
	return err
}

// addEngine notes an engine. It reports false if the Server has been shut down.
func (s *Server) addEngine(e *engine) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.engines = append(s.engines, e)
	return true
}

func (s *Server) removeEngine(e *engine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.engines = slices.DeleteFunc(s.engines, func(other *engine) bool { return other == e })
	s.past = sum(s.past, e.server.Stats())
}

// Stats returns the counters of the connections that the Server serves itself; those that
// net/http serves are not counted. A panic of a handler counts in Errors and in Panics, unless
// it is http.ErrAbortHandler. PeerClosed, and the counters of limits that only a socket.Server
// has, are 0. Any goroutine may call it; it never suspends.
func (s *Server) Stats() socket.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.past
	for _, e := range s.engines {
		all = sum(all, e.server.Stats())
	}
	return all
}

func sum(a, b socket.Stats) socket.Stats {
	return socket.Stats{
		Accepted: a.Accepted + b.Accepted, Open: a.Open + b.Open, Handshakes: a.Handshakes + b.Handshakes,
		Errors: a.Errors + b.Errors, Panics: a.Panics + b.Panics,
	}
}

// shutdownOwn ends the engines, as Shutdown does. It reports whether that is all there is.
func (s *Server) shutdownOwn(ctx context.Context) (known bool, err error) {
	by, limited := ctx.Deadline()
	s.mu.Lock()
	s.ended = true
	if limited && s.by.IsZero() {
		s.by = by
	}
	engines, others := slices.Clone(s.engines), len(s.serving) > 0
	all := slices.Clone(engines)
	for _, e := range engines {
		all = append(all, e.beside...)
	}
	s.mu.Unlock()
	if len(engines) == 0 {
		return false, nil
	}
	for _, e := range all {
		e.end()
	}
	for _, e := range engines { // before any of them is waited for
		peer.Stop(e.server)
	}
	if others {
		err = s.shutdown(ctx)
	} else {
		s.beginQuiet() // for the functions of RegisterOnShutdown; nothing is left to wait for
	}
	for _, e := range engines {
		if failure := e.server.Shutdown(ctx); err == nil {
			err = failure
		}
	}
	if err != nil && others {
		s.abort()
	}
	return true, err
}

// SetKeepAlivesEnabled controls whether connections stay open after an answer. By default they
// do. If not, those that are idle are closed, and each other one ends with its next answer. Use
// it in place of the method of HTTP. Any goroutine may call it; it never suspends.
func (s *Server) SetKeepAlivesEnabled(on bool) {
	s.noKeepAlive.Store(!on)
	s.HTTP.SetKeepAlivesEnabled(on)
	if on {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.engines {
		for _, e := range append(slices.Clone(e.beside), e) {
			_ = e.loop.Post(e.closeIdle) // with its loop, all of its connections have ended
		}
	}
}
