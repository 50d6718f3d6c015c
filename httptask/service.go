package httptask

// A service finds, for a request, the call of Serve that it belongs to.

import (
	"context"
	"net"
	"net/http"
	"slices"

	"github.com/rondo-go/rondo"
)

// takeOver puts the Server between net/http and the user's handler.
func (s *Server) takeOver() {
	s.handler, s.base = s.HTTP.Handler, s.HTTP.BaseContext
	if s.handler == nil {
		s.handler = http.DefaultServeMux
	}
	s.HTTP.Handler = http.HandlerFunc(s.dispatch)
	s.HTTP.BaseContext = s.baseContext
	// Danger: if Serve comes first, net/http sets HTTP/2 up only if TLSConfig names it,
	// and ServeTLS offers it nevertheless, and closes the connections that choose it.
	if c := s.HTTP.TLSConfig; c != nil && s.HTTP.TLSNextProto == nil && !slices.Contains(c.NextProtos, "h2") &&
		(s.HTTP.Protocols == nil || s.HTTP.Protocols.HTTP2()) {
		s.HTTP.TLSConfig = c.Clone()
		s.HTTP.TLSConfig.NextProtos = append(slices.Clip(c.NextProtos), "h2", "http/1.1")
	}
}

type serviceKey struct{}

// dispatch passes a request to the handler whose scope is that of its listener. A protocol of
// HTTP.TLSNextProto makes requests of its own, which may name none.
func (s *Server) dispatch(w http.ResponseWriter, r *http.Request) {
	if h, ok := r.Context().Value(serviceKey{}).(*handler); ok {
		h.ServeHTTP(w, r)
		return
	}
	if h := s.anyHandler(); h != nil {
		h.ServeHTTP(w, r)
		return
	}
	refuse(w)
}

// anyHandler returns the handler of a call of Serve: all are on one loop.
func (s *Server) anyHandler() *handler {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.serving {
		return h
	}
	return nil
}

// baseContext is the context in which a listener's connections begin.
func (s *Server) baseContext(l net.Listener) context.Context {
	own := l.Addr().(address)
	if h, ok := own.listener.(*handover); ok {
		return context.WithValue(h.base, serviceKey{}, own.handler)
	}
	base := context.Background()
	if s.base != nil {
		base = s.base(own.listener)
	}
	return context.WithValue(base, serviceKey{}, own.handler)
}

// A listener is one that Serve was called with. Its address names the handler: it is
// what a listener of crypto/tls around it shows too.
type listener struct {
	net.Listener
	handler *handler
}

// Close contains a panic of the program's listener: http.Server.Shutdown would leave a lock behind
// that its other methods take.
func (l listener) Close() error { return contain("Close of a net.Listener", l.Listener.Close) }

func (l listener) Addr() net.Addr { return address{l.Listener.Addr(), l.Listener, l.handler} }

type address struct {
	net.Addr
	listener net.Listener
	handler  *handler
}

// add notes a call of Serve. It returns the listener for net/http.
func (s *Server) add(g *rondo.Scope, l net.Listener) net.Listener {
	h := newHandler(g, loopOf(g, "Server.Serve"), s.handler)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.serving == nil {
		s.serving = make(map[*rondo.Scope]*handler)
	}
	s.serving[g] = h
	return listener{l, h}
}

// remove forgets it when its last task has ended.
func (s *Server) remove(g *rondo.Scope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.serving, g)
}
