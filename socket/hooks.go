package socket

// What package httptask asks of a session (internal/peer): to report the end of its
// connection, to leave the connection open, and to watch the client while a handler runs.

import (
	"errors"
	"net"

	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/peer"
)

func init() {
	peer.Watches = fd.Unwatches
	peer.SetSessions = func(server any, h *peer.Hooks) { server.(*Server).hooks = h }
	peer.Panicked = func(server any) {
		n := &server.(*Server).counts
		n.Errors.Add(1)
		n.Panics.Add(1)
	}
	peer.CloseIdle = func(server any) { server.(*Server).closeIdle() }
	peer.Stop = func(server any) { server.(*Server).beginShutdown() }
	peer.Watch = func(c net.Conn, w peer.Watcher) bool {
		o, ok := c.(observable)
		return ok && o.observe(w)
	}
	peer.Unwatch = func(c net.Conn) {
		if o, ok := c.(observable); ok {
			o.unwatchInput()
		}
	}
	peer.Ended = func(c net.Conn) bool {
		o, ok := c.(observable)
		return ok && o.ended()
	}
	peer.Release = release
}

// An observable is a connection whose peer can be watched while a task serves it.
type observable interface {
	watchable

	// observe is watchInput, but only if unwatchInput can undo it.
	observe(w fd.Watcher) (ready bool)
	unwatchInput()

	// ended reports whether a Read would find the end of the stream, or an error, at
	// once.
	ended() bool
}

func (c *Conn) observe(w fd.Watcher) bool { return c.fd.CanUnwatch() && c.fd.WatchInput(w) }
func (c *Conn) unwatchInput()             { c.fd.Unwatch() }
func (c *Conn) ended() bool               { return c.fd.Ended() }

func (p *pipe) observe(w fd.Watcher) bool { return p.watchInput(w) }
func (p *pipe) unwatchInput()             { p.in.read.Unwatch() }

func (p *pipe) ended() bool {
	return !p.in.offered && (p.in.readClosed.Load() || p.in.writeClosed.Load())
}

func (c *TLSConn) observe(w fd.Watcher) bool {
	below, ok := c.conn.(observable)
	if b, is := below.(*Conn); !ok || !c.ready.Load() || is && !b.fd.CanUnwatch() {
		return false
	}
	return c.watchInput(w)
}

func (c *TLSConn) unwatchInput() {
	if below, ok := c.conn.(observable); ok {
		below.unwatchInput()
	}
}

// ended looks at what watchInput has read ahead.
func (c *TLSConn) ended() bool { return !c.ahead.has }

// release is peer.Release.
func release(c net.Conn) (net.Conn, error) {
	switch c := c.(type) {
	case *Conn:
		f, err := c.File()
		if err != nil {
			return nil, err
		}
		defer f.Close()
		std, err := net.FileConn(f)
		if err == nil {
			_ = c.Close() // the other descriptor keeps the connection
		}
		return std, err
	case *TLSConn:
		std, err := release(c.conn)
		if err == nil {
			c.conn, c.released = std, true
			return c.tls, nil
		}
		return nil, err
	}
	return nil, errors.ErrUnsupported
}
