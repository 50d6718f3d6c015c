package httptask

// Connections that speak something else than HTTP/1: an engine hands them over to net/http,
// with the keys of TLS and with what it has read. The handlers are tasks there too.

import (
	"context"
	"net"
	"net/http"
	"sync"

	"github.com/rondo-go/rondo/internal/peer"
)

// handOver gives the connection, of which early was read, to net/http.
func (n *connection) handOver(early []byte) error {
	c, err := peer.Release(n.conn)
	if err != nil {
		return err
	}
	if len(early) > 0 {
		c = &begun{Conn: c, early: early}
	}
	added := false
	defer func() {
		if !added { // ConnState has panicked, or called Goexit
			closeAway(c)
		}
	}()
	n.setState(http.StateHijacked)
	added = true
	n.engine.other.add(c)
	return peer.ErrTaken
}

// A begun connection has been read from.
type begun struct {
	net.Conn
	early []byte // is read first
}

func (c *begun) Read(p []byte) (int, error) {
	if len(c.early) == 0 {
		return c.Conn.Read(p)
	}
	k := copy(p, c.early)
	c.early = c.early[k:]
	return k, nil
}

// preface is what a client of HTTP/2 sends first (RFC 9113, section 3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// prefaced reports whether the client begins with HTTP/2. It waits only while that is open.
func (x *scratch) prefaced() bool {
	for k := 1; k <= len(preface); k++ {
		if b, err := x.in.Peek(k); err != nil || b[k-1] != preface[k-1] {
			return false
		}
	}
	return true
}

// A handover is the listener from which net/http accepts what an engine hands over. Goroutines
// and the loop use it.
type handover struct {
	net.Listener // the engine's
	base         context.Context

	mu     sync.Mutex
	came   sync.Cond
	conns  []net.Conn
	closed bool
}

func newHandover(l net.Listener) *handover {
	h := &handover{Listener: l}
	h.came.L = &h.mu
	return h
}

func (h *handover) add(c net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		closeAway(c)
		return
	}
	h.conns = append(h.conns, c)
	h.came.Signal()
}

// closeAway closes a connection that nobody uses. With TLS that may wait for the client, and
// the caller may be the loop.
func closeAway(c net.Conn) { go func() { _ = c.Close() }() }

func (h *handover) Accept() (net.Conn, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.conns) == 0 && !h.closed {
		h.came.Wait()
	}
	if h.closed {
		return nil, net.ErrClosed
	}
	c := h.conns[0]
	h.conns = h.conns[1:]
	return c, nil
}

// Close leaves the engine's listener open.
func (h *handover) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, c := range h.conns {
		closeAway(c)
	}
	h.conns = nil
	h.came.Broadcast()
	return nil
}
