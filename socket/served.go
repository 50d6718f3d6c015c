package socket

// One connection of a Server with a Handler: its task, the handshake, the error that is
// reported, the end. session.go is the same for a Session.

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/errtree"
)

// A served is a connection with a handler.
type served struct {
	net.Conn
	server  *Server
	service *service
	task    *rondo.Task // of the handler
	place   int32       // in service.conns
	looks   bool        // a look at the peer is due
}

// handshake does the handshake of a tls.Conn. Two tasks of a handler would meet
// at its mutex, which stops the loop for as long as the client is silent.
//
//go:noinline
func (e *served) handshake() (err error) {
	if connBelow(e.Conn) == nil {
		e.task.SetName(taskName(e.Conn))
	}
	c, ok := e.Conn.(*tls.Conn)
	if !ok {
		return nil
	}
	defer func() {
		if err != nil {
			e.server.counts.Handshakes.Add(1)
		}
	}()
	limit := e.server.Limits.handshake()
	if limit == 0 {
		return c.Handshake()
	}
	d := e.server.loop.Driver()
	if err := c.SetDeadline(d.Time(d.Now()).Add(limit)); err != nil {
		return err
	}
	if err := c.Handshake(); err != nil {
		return err
	}
	return c.SetDeadline(time.Time{})
}

// taskName returns the name of a task that serves c.
func taskName(c net.Conn) string {
	if a := tcpPeer(c.RemoteAddr()); a.IsValid() {
		var b [64]byte
		a = netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
		return string(a.AppendTo(append(b[:0], "conn "...)))
	}
	if a := c.RemoteAddr(); a != nil {
		return "conn " + a.String()
	}
	return "conn"
}

// leave is called when the handler has ended with err, or nil. It ends the tasks that the
// handler has started.
func (e *served) leave(err error) {
	task := e.server.loop.Task()
	if err == io.EOF { // no error for the tasks that it has started to be cancelled with
		err = task.Leave(nil)
	} else {
		err = task.Leave(err)
	}
	if err == nil {
		return
	}
	if c, ok := e.Conn.(*TLSConn); ok && !c.ready.Load() {
		e.server.counts.Handshakes.Add(1)
	}
	if !cutOff(e.service.scope, err) {
		e.server.report(e.Conn, err)
	}
}

// cutOff reports whether err says only that the scope was cancelled, or that
// the connection was closed because of that; or that the peer has left, or a limit was
// passed, which are counted. Of joined errors each must say so: what else has failed is reported.
func cutOff(g *rondo.Scope, err error) bool {
	return errtree.Only(err, func(err error) bool {
		if late, ok := err.(limitError); ok && late != errHandshake || errtree.Same(err, ErrPeerClosed) {
			return true
		}
		return g.Err() != nil &&
			(errtree.Same(err, context.Cause(g)) || errtree.Same(err, net.ErrClosed) || errtree.Same(err, os.ErrDeadlineExceeded))
	}, isPanic)
}

// finish closes a connection whose handler has ended. A panic of the handler is its error.
func (e *served) finish() {
	defer e.remove() // also after a Goexit of OnError
	if e.server.loop.Recovers() {
		if p := recover(); p != nil {
			e.leave(panicError(e.task.Name(), p))
			return
		}
	}
	e.leave(nil) // which does nothing if the handler has returned
}

// closeConn closes c, which a task has served whose own scope may have been left: then the
// last record of TLS is sent behind a Shield, unless g, the scope of the Server, has ended.
func (s *Server) closeConn(c net.Conn, g *rondo.Scope) {
	defer contain(s.loop, "Close of a connection", nil)
	// An error of Close says only that the handler has closed it already or
	// that the peer is gone. Neither helps anyone.
	if _, plain := c.(*Conn); plain || g.Err() != nil || s.loop.Task().Check() == nil {
		_ = c.Close()
		return
	}
	_ = s.loop.Task().Shield(func(context.Context) error { return c.Close() })
}

// remove closes e, and takes it off the books.
func (e *served) remove() {
	defer e.uncount() // also after a Goexit of Close
	e.server.closeConn(e.Conn, e.service.scope)
}

func (e *served) uncount() {
	v := e.service
	last := len(v.conns) - 1
	v.conns[e.place] = v.conns[last]
	v.conns[e.place].place = e.place
	v.conns[last] = nil
	v.conns = v.conns[:last]
	e.task = nil // which ends the looks at the peer
	e.server.uncount(e)
}
