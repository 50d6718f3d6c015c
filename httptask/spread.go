package httptask

// A Server that serves on several loops, for package shard.
//
// The law: each loop has an engine, and net/http beside it for what is handed over, so a handler
// runs on the loop that has its connection. The engine of the loop that accepts leads: the
// connections of all are parts of its socket.Server, which alone is counted and shut down.

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/peer"
	"github.com/rondo-go/rondo/internal/spread"
	"github.com/rondo-go/rondo/socket"
)

func init() {
	spread.Add((*Server)(nil), func(ctx context.Context, server any, loops spread.Loops, o spread.Options) error {
		return server.(*Server).spread(ctx, loops, o)
	})
}

// spread serves as Serve does, or as ServeTLS if o.TLS is set.
func (s *Server) spread(ctx context.Context, loops spread.Loops, o spread.Options) (err error) {
	s.mustServe(o.Listener, "Serve")
	if !s.owns(ctx, o.Listener) {
		return fmt.Errorf("shard: Serve of an httptask.Server whose connections net/http would serve: only those of HTTP/1 "+
			"are served by several loops, with epoll or kqueue: %w", errors.ErrUnsupported)
	}
	var secure *tls.Config
	if o.TLS != nil {
		if secure, err = s.secure(ctx, o.TLS, "", "", s.offersHTTP2()); err != nil {
			return err
		}
		o.TLS = nil
	}
	lead := s.newEngine(ctx, o.Listener, secure)
	engines := make([]*engine, loops.N) // each belongs to its loop
	engines[loops.Home] = lead
	o.Part = func(loop int, server any) {
		part, e := server.(*socket.Server), engines[loop]
		part.OnError = e.report
		peer.SetSessions(part, e.hooks())
		e.counts = part
	}
	var cut atomic.Pointer[error] // the cause, if another loop was to end before ctx was cancelled here
	call := loops.Call
	loops.Call = func(ctx context.Context, loop int, fn func(ctx context.Context) error) error {
		if loop == loops.Home {
			return call(ctx, loop, fn)
		}
		return call(ctx, loop, func(ctx context.Context) error {
			engines[loop] = s.beside(ctx, lead)
			return s.serveBeside(ctx, engines[loop], &cut, fn)
		})
	}
	err = s.serveOwn(ctx, lead, func(ctx context.Context) error {
		return spread.Of(lead.server)(ctx, lead.server, loops, o)
	})
	if cause := cut.Load(); cause != nil && err == http.ErrServerClosed {
		return *cause
	}
	return err
}

// beside returns an engine for the loop of ctx, which lead leads.
func (s *Server) beside(ctx context.Context, lead *engine) *engine {
	e := &engine{
		http: lead.http, handler: lead.handler, base: lead.base, listener: lead.listener, secure: lead.secure,
		noKeepAlive: lead.noKeepAlive,
	}
	s.bind(ctx, e, lead.other != nil)
	s.mu.Lock()
	lead.beside = append(lead.beside, e)
	ended := s.ended
	s.mu.Unlock()
	if ended {
		e.end()
	}
	return e
}

// serveBeside serves by an engine that another one leads. When ctx is cancelled because its loop
// is to end, requests that run have as much time as on the loop that leads, which may not be able
// to say any more that it is over, or not know it yet: cut gets the cause.
func (s *Server) serveBeside(ctx context.Context, e *engine, cut *atomic.Pointer[error], serve func(ctx context.Context) error) error {
	var end error
	err := s.shielded(ctx, e, func(ctx context.Context) error {
		end = serve(ctx)
		return nil
	}, func(g *rondo.Scope, served *rondo.Task) {
		if cause := context.Cause(ctx); !errtree.Is(cause, http.ErrServerClosed) {
			cut.Store(&cause)
			_ = rondo.Timeout(g, s.left(rondo.Now(g)), served.Wait)
		}
		served.Cancel(http.ErrServerClosed)
	})
	if err == nil {
		return end
	}
	return errors.Join(end, err)
}
