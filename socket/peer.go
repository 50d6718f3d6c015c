package socket

import (
	"context"
	"net"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// ErrPeerClosed is the cause with which the ctx of a handler or of a call of a Session is
// cancelled when the peer has closed the connection, or has lost it, while the function
// waits for something else.
var ErrPeerClosed = kernel.Closed("rondo: the peer has closed the connection")

// A function that serves a connection and waits for something else learns that its peer has
// left. The law: it is cancelled only if nobody else tells it. So nothing happens while a
// task reads or writes, while there is data that has not been read, or after an operation
// has returned the end of the stream or an error. A function that has started tasks is left
// to them: one that copies to another connection reads the end in its own time. No task
// waits for any of this: the descriptor is registered with the driver for the reads anyway.

// A client is a connection that a Server watches for its peer: a *served or a *session.
type client interface {
	fd.Watcher

	// serving returns the connection, and the task of the function that serves it now,
	// nil for none.
	serving() (net.Conn, *rondo.Task)

	// looking is set while a look at the peer is due.
	looking() *bool
}

// watchPeer makes e.Ready be called when the peer may have left.
func (s *Server) watchPeer(c net.Conn, e client) {
	if s.HalfClose {
		return
	}
	if below := connBelow(c); below != nil {
		below.fd.WatchHangUps(e, s.Handler != nil)
	}
}

// connBelow returns the socket of a connection of this package, or nil.
func connBelow(c net.Conn) *Conn {
	if t, ok := c.(*TLSConn); ok {
		c = t.conn
	}
	below, _ := c.(*Conn)
	return below
}

// lookSoon looks in the next turn whether the peer of e has left.
func (s *Server) lookSoon(e client, g *rondo.Scope) {
	if _, t := e.serving(); t == nil || *e.looking() {
		return
	}
	*e.looking() = true
	s.loop.Callback(func() {
		*e.looking() = false
		s.look(e, g)
	})()
}

// look cancels the function that serves e if the peer has left.
func (s *Server) look(e client, g *rondo.Scope) {
	c, t := e.serving()
	if t == nil {
		return
	}
	hungUp, atEnd := connBelow(c).fd.HungUp()
	if !hungUp {
		return
	}
	waits, alone := s.loop.Waits(t)
	switch tls, encrypted := c.(*TLSConn); {
	case !alone:
	case !waits:
		s.lookSoon(e, g)
	case encrypted && tls.ready.Load():
		// What is left may be no more than the alert with which TLS ends, and
		// TLS may have data although nothing is left.
		g.Go(func(context.Context) error {
			ended := tls.watchInput(nobody{}) && !tls.ahead.has
			if _, now := e.serving(); ended && now == t {
				s.peerLeft(t)
			}
			return nil
		}).SetName("hang-up")
	case atEnd:
		s.peerLeft(t)
	}
}

func (s *Server) peerLeft(t *rondo.Task) {
	s.counts.PeerClosed.Add(1)
	t.Cancel(ErrPeerClosed)
}

// nobody is a Watcher for input of which nobody needs to know.
type nobody struct{}

func (nobody) Ready() {}

// A servedPeer is a served as the Watcher of its peer.
type servedPeer served

func (e *servedPeer) Ready() { e.server.lookSoon(e, e.service.scope) }

func (e *servedPeer) serving() (net.Conn, *rondo.Task) { return e.Conn, e.task }

func (e *servedPeer) looking() *bool { return &e.looks }

// A sessionPeer is a session as the Watcher of its peer.
type sessionPeer session

func (e *sessionPeer) Ready() { e.owner.server.lookSoon(e, e.owner.scope) }

func (e *sessionPeer) serving() (net.Conn, *rondo.Task) { return e.conn, e.task }

func (e *sessionPeer) looking() *bool { return &e.looks }
