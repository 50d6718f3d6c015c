package socket

// An outbox stands between crypto/tls and the connection of a TLSConn: it holds
// the records that crypto/tls has written and that are not sent yet.
//
// The law: writing into the outbox never waits. It holds at most one chunk, the
// rest of a chunk that an interrupted Write has left, and the answers that
// crypto/tls owes the peer.

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
	"time"

	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// boxes has the memory of empty outboxes: a quiet connection has none.
var boxes = sync.Pool{New: func() any { return new([]byte) }}

// An outbox has what was written and not yet sent, in order.
type outbox struct {
	mu  sync.Mutex // held while a record is copied, never while anything waits
	buf *[]byte    // nil: empty
}

// add puts b at the end.
func (o *outbox) add(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.buf == nil {
		o.buf = boxes.Get().(*[]byte)
	}
	*o.buf = append(*o.buf, b...)
}

// take returns everything in the outbox, or nil. The caller returns it by sent.
func (o *outbox) take() *[]byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	buf := o.buf
	o.buf = nil
	return buf
}

// sent returns what was taken. Its first n bytes have been sent; the others go
// ahead of what was added since.
func (o *outbox) sent(buf *[]byte, n int) {
	rest := append((*buf)[:0], (*buf)[n:]...)
	if len(rest) > 0 {
		o.mu.Lock()
		defer o.mu.Unlock()
		if later := o.buf; later != nil {
			rest = append(rest, *later...)
			recycle(later)
		}
		*buf, o.buf = rest, buf
		return
	}
	recycle(buf)
}

func recycle(buf *[]byte) {
	*buf = (*buf)[:0]
	if cap(*buf) <= 2*chunk {
		boxes.Put(buf)
	}
}

// size returns the number of bytes in the outbox.
func (o *outbox) size() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.buf == nil {
		return 0
	}
	return len(*o.buf)
}

// drain sends until the outbox is empty. The caller has the lock sending.
func (c *TLSConn) drain() error {
	for {
		buf := c.box.take()
		if buf == nil {
			return nil
		}
		n, err := c.conn.Write(*buf)
		if err == nil && n < len(*buf) {
			err = io.ErrShortWrite
		}
		c.box.sent(buf, n)
		if err != nil {
			return err
		}
	}
}

// send waits for the lock and drains the outbox.
func (c *TLSConn) send(t kernel.Task) error {
	if c.box.size() == 0 {
		return nil
	}
	if err := c.sending.Take(c.loop, t); err != nil {
		return c.fail("write", err)
	}
	defer c.sending.Release(c.loop)
	return c.drain()
}

// flush drains the outbox, unless someone else does. That one looks again after
// releasing the lock, as is done here, so nothing that was added in between is
// left. What cannot be sent stays for the next sender, which gets the error. It
// waits, so it is for those that send.
func (c *TLSConn) flush() {
	for c.box.size() > 0 && c.sending.Try() {
		err := c.drain()
		c.sending.Release(c.loop)
		if err != nil {
			return
		}
	}
}

// offer is flush for a reader: it sends what the system takes at once. The rest
// stays for the next sender. So does everything where a send that does not wait
// is impossible: with the portable driver, on another goroutine than the loop's,
// and over a connection of another type. The answers among it may be late: they
// must come before the next data (RFC 8446, section 4.6.3), which is sent behind
// them.
func (c *TLSConn) offer() {
	for all := true; all && c.box.size() > 0 && c.sending.Try(); {
		if buf := c.box.take(); buf != nil {
			n := 0
			if below, ok := c.conn.(*Conn); ok {
				n = below.fd.TryWrite(*buf)
			}
			all = n == len(*buf)
			c.box.sent(buf, n)
		}
		c.sending.Release(c.loop)
	}
}

// setUntil stores the deadline for writing.
func (c *TLSConn) setUntil(t time.Time) {
	c.mu.Lock()
	c.until = t
	c.mu.Unlock()
}

// pastWriteDeadline reports whether the deadline for writing has passed.
func (c *TLSConn) pastWriteDeadline(t kernel.Task) bool {
	c.mu.Lock()
	until := c.until
	c.mu.Unlock()
	return !until.IsZero() && !c.now(t).Before(until)
}

// now returns the time of day that deadlines refer to: simulated time in a
// simulation.
func (c *TLSConn) now(t kernel.Task) time.Time {
	if t == nil {
		return time.Now()
	}
	d := c.loop.Driver()
	return d.Time(d.Now())
}

// fail returns err as package net would.
func (c *TLSConn) fail(op string, err error) error {
	local, remote := c.conn.LocalAddr(), c.conn.RemoteAddr()
	return &net.OpError{Op: op, Net: remote.Network(), Source: local, Addr: remote, Err: err}
}

// A wire is the connection that crypto/tls uses.
type wire struct{ c *TLSConn }

// Write puts a record into the outbox. After close_notify it drops the record,
// also an answer that crypto/tls owes. It must not fail, or crypto/tls would
// treat the record that it answers as damaged.
func (w wire) Write(p []byte) (int, error) {
	if w.c.released {
		return w.c.conn.Write(p)
	}
	if !w.c.noWrites.Load() {
		w.c.box.add(p)
	}
	return len(p), nil
}

// Read sends what is in the outbox and then reads. During the handshake the
// peer must get our message before it answers. Later, data that cannot be sent
// at once is no reason not to read.
func (w wire) Read(p []byte) (int, error) {
	c := w.c
	if c.released {
		return c.conn.Read(p)
	}
	if c.ready.Load() {
		c.offer()
	} else if c.box.size() > 0 {
		if err := c.send(fd.TaskOf(c.loop, "Read")); err != nil {
			return 0, retriable{err}
		}
	}
	if c.ahead.looking && !c.ahead.mayRead(c.conn) {
		return 0, retriable{errNothing}
	}
	n, err := c.conn.Read(p)
	if err != nil && err != io.EOF {
		err = retriable{err}
	}
	return n, err
}

func (w wire) Close() error                      { return w.c.conn.Close() }
func (w wire) NetConn() net.Conn                 { return w.c.conn }
func (w wire) LocalAddr() net.Addr               { return w.c.conn.LocalAddr() }
func (w wire) RemoteAddr() net.Addr              { return w.c.conn.RemoteAddr() }
func (w wire) SetReadDeadline(t time.Time) error { return w.c.conn.SetReadDeadline(t) }

// SetWriteDeadline does nothing: crypto/tls sets a deadline around
// close_notify, which is sent only later. A connection that was released sends at once.
func (w wire) SetWriteDeadline(t time.Time) error {
	if w.c.released {
		return w.c.conn.SetWriteDeadline(t)
	}
	return nil
}

func (w wire) SetDeadline(t time.Time) error {
	if err := w.SetReadDeadline(t); err != nil {
		return err
	}
	return w.SetWriteDeadline(t)
}

// retriable is an error of a read after which crypto/tls accepts another try.
// The connection below decides whether the error lasts.
type retriable struct{ error }

func (r retriable) Unwrap() error { return r.error }
func (retriable) Timeout() bool   { return false }
func (retriable) Temporary() bool { return true }

// unwrap returns an error of crypto/tls as it would be without a wire.
func (c *TLSConn) unwrap(err error) error {
	switch e := err.(type) {
	case retriable:
		return e.error
	case tls.RecordHeaderError:
		if e.Conn != nil {
			// A caller may answer a peer that speaks no TLS in plain text.
			e.Conn = c.conn
			return e
		}
	}
	return err
}
