package socket

// A TLSConn is crypto/tls on a Conn, arranged so that no task ever waits while
// it has one of the locks in there.
//
// A tls.Conn has three locks. The lock for reading is held while Read waits for
// a record, and the lock for the handshake during all of the handshake. Tasks
// and goroutines come to both one at a time here, through locks that suspend.
// The third lock is for writing, and reading needs it too, for an answer. What
// crypto/tls writes goes into an outbox (see outbox.go), so nobody holds that
// lock longer than it takes to encrypt a record. What is in the outbox is sent
// outside crypto/tls, by the holder of the lock sending.
//
// The order of the locks: handshaking, reading, sending. A reader of a
// connection whose handshake is done never waits for sending, unless too much is
// unsent: the peer may read no more until it has been read. It sends only what
// the system takes at once, and if someone else is sending, that one sends
// everything.

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

const (
	// chunk is how many bytes of a Write are encrypted at a time.
	chunk = 64 << 10

	// unsentMax is how many bytes may be unsent when more is read. A peer that
	// does not read can make us owe it answers.
	unsentMax = 128 << 10

	// closeNotifyTimeout is how long sending close_notify may take, as in
	// crypto/tls.
	closeNotifyTimeout = 5 * time.Second
)

// A TLSConn is TLS over a connection, like a tls.Conn, for any number of tasks
// and goroutines at once. Whatever the peer sends, or does not read, only the
// tasks that use the connection wait. It is a net.Conn. The first Read or Write
// does the handshake if it has not been done.
//
// Its errors are those of crypto/tls and of the connection below. Unlike a
// tls.Conn, it survives a Read or a Write that was interrupted, by a deadline
// or by the task's scope: the next one continues where that one stopped. A
// handshake that was interrupted has failed for good.
type TLSConn struct {
	conn        net.Conn
	tls         *tls.Conn
	loop        kernel.Loop
	handshaking fd.Lock // held by the task that does the handshake
	reading     fd.Lock // held by the reader, after the handshake
	sending     fd.Lock // held by the sender of the outbox
	box         outbox
	ahead       ahead       // of the holder of the lock reading
	ready       atomic.Bool // the handshake is done, and all of it is sent
	noWrites    atomic.Bool // close_notify is sent
	closed      atomic.Bool
	released    bool       // goroutines use tls, and conn is one of package net
	mu          sync.Mutex // guards until; held for an instant
	until       time.Time  // the deadline for writing
}

var _ net.Conn = (*TLSConn)(nil)

// TLSClient returns the client side of TLS over c, for the tasks of ctx's loop,
// as tls.Client does. The config must have a ServerName, or InsecureSkipVerify.
// It never suspends; ctx only names the loop.
//
// It panics if ctx belongs to no loop, or if the config allows renegotiation: a
// second handshake in the middle of reading, which TLS 1.3 has abolished.
func TLSClient(ctx context.Context, c net.Conn, config *tls.Config) *TLSConn {
	if config != nil && config.Renegotiation != tls.RenegotiateNever {
		panic("rondo: socket.TLSClient with a Renegotiation: only tls.RenegotiateNever is possible")
	}
	t := newTLSConn(mustLoop(ctx, "TLSClient"), c)
	t.tls = tls.Client(wire{t}, config)
	return t
}

// TLSServer returns the server side of TLS over c, for the tasks of ctx's loop,
// as tls.Server does. The config must have a certificate, or a way to get one.
// It never suspends; ctx only names the loop. It panics if ctx belongs to no
// loop.
//
// Functions of the config, such as GetCertificate, run in the task that does the handshake. What
// blocks in one, as autocert does while it asks for a certificate, stops the loop, so Offload it
// with a ctx of the loop. The Context of their argument belongs to no loop, unless it is that of
// HandshakeContext.
//
// A KeyLogWriter must neither wait as a task nor panic: crypto/tls calls it with a lock that all
// handshakes of the program need which have one, so the next of them would stop the loop.
func TLSServer(ctx context.Context, c net.Conn, config *tls.Config) *TLSConn {
	return newTLSServer(mustLoop(ctx, "TLSServer"), c, config)
}

func newTLSServer(loop kernel.Loop, c net.Conn, config *tls.Config) *TLSConn {
	t := newTLSConn(loop, c)
	t.tls = tls.Server(wire{t}, config)
	return t
}

func mustLoop(ctx context.Context, call string) kernel.Loop {
	loop, err := loopOf(ctx, call)
	if err != nil {
		panic(err)
	}
	return loop
}

func newTLSConn(loop kernel.Loop, c net.Conn) *TLSConn {
	t := &TLSConn{conn: c, loop: loop}
	return t
}

// Read reads available data into p, or waits for it. It returns io.EOF when the
// peer has ended its side, os.ErrDeadlineExceeded past the deadline for
// reading, net.ErrClosed after Close. Several readers take turns, and each gets
// different data. It suspends the task.
//
// It also sends the answers that TLS owes the peer, if that needs no wait; the
// rest is sent by the next Write, CloseWrite or Close. If the peer does not read
// and more than 128 KiB are unsent, Read sends them before it reads; the deadline
// for writing applies to that.
func (c *TLSConn) Read(p []byte) (int, error) {
	t := fd.TaskOf(c.loop, "Read")
	if err := c.Handshake(); err != nil {
		return 0, err
	}
	if err := c.reading.Take(c.loop, t); err != nil {
		return 0, c.fail("read", err)
	}
	defer c.reading.Release(c.loop)
	if err := c.enter(t, "read"); err != nil {
		return 0, err
	}
	if c.closed.Load() { // there may be data in memory
		return 0, c.fail("read", net.ErrClosed)
	}
	if c.box.size() > unsentMax {
		if err := c.send(t); err != nil {
			return 0, err
		}
	}
	n, err := c.read(p)
	c.offer()
	return n, c.unwrap(err)
}

// Write writes all of p, or fails and returns how many bytes it has taken. Bytes that were taken
// will be sent unless the connection fails first: if a Write fails, up to 64 KiB of what it has
// taken may still be unsent, and the next Write sends them before its own data. So to go on after
// a deadline, write p[n:]. Concurrent writes are not mixed. It suspends the task.
func (c *TLSConn) Write(p []byte) (int, error) {
	t := fd.TaskOf(c.loop, "Write")
	if err := c.Handshake(); err != nil {
		return 0, err
	}
	if err := c.sending.Take(c.loop, t); err != nil {
		return 0, c.fail("write", err)
	}
	n, err := c.write(t, p)
	if err == nil {
		c.flush()
	}
	return n, err
}

// write is Write for the holder of the lock sending, which it releases.
func (c *TLSConn) write(t kernel.Task, p []byte) (n int, err error) {
	defer c.sending.Release(c.loop)
	if c.closed.Load() {
		return 0, net.ErrClosed
	}
	if err := c.enter(t, "write"); err != nil {
		return 0, err
	}
	// What is encrypted counts as written, so this is the last moment to
	// refuse.
	if c.pastWriteDeadline(t) {
		return 0, c.fail("write", os.ErrDeadlineExceeded)
	}
	if err := c.drain(); err != nil {
		return 0, err
	}
	for {
		m, err := c.tls.Write(p[:min(len(p), chunk)])
		n, p = n+m, p[m:]
		if err == nil {
			err = c.drain()
		}
		if err != nil || len(p) == 0 {
			return n, err
		}
	}
}

// enter fails if the task's scope is cancelled, also if there is data in
// memory.
func (c *TLSConn) enter(t kernel.Task, op string) error {
	if t == nil || t.Scope().Err() == nil {
		return nil
	}
	return c.fail(op, context.Cause(t.Scope()))
}

// Handshake does the handshake, unless it is done. It is for callers who want
// its error before they read or write. Like tls.Conn's it takes no ctx: it ends
// when the task's scope is cancelled. It suspends the task.
func (c *TLSConn) Handshake() error { return c.HandshakeContext(context.Background()) }

// HandshakeContext is Handshake with a ctx. If ctx is cancelled before the
// handshake is done, it closes the connection and returns the error of ctx. ctx
// need not belong to a loop. A handshake that has failed fails again with the
// same error. It suspends the task.
func (c *TLSConn) HandshakeContext(ctx context.Context) error {
	if c.ready.Load() {
		return nil
	}
	t := fd.TaskOf(c.loop, "Handshake")
	if err := c.takeHandshake(ctx, t); err != nil {
		return err
	}
	defer c.handshaking.Release(c.loop)
	if c.ready.Load() {
		return nil
	}
	if err := c.tls.HandshakeContext(ctx); err != nil {
		// If possible, an alert tells the peer.
		c.flush()
		return c.unwrap(err)
	}
	if err := c.send(t); err != nil {
		return err
	}
	c.ready.Store(true)
	return nil
}

// takeHandshake takes the lock handshaking.
func (c *TLSConn) takeHandshake(ctx context.Context, t kernel.Task) error {
	if c.handshaking.Try() {
		return nil
	}
	stop := func() bool { return true }
	if ctx.Done() != nil {
		stop = context.AfterFunc(ctx, func() { _ = c.conn.Close() })
	}
	err := c.handshaking.Take(c.loop, t)
	if err != nil {
		err = c.fail("handshake", err)
	}
	if !stop() {
		if err == nil {
			c.handshaking.Release(c.loop)
		}
		return ctx.Err()
	}
	return err
}

// CloseWrite ends the sending side: it sends close_notify (RFC 8446, section 6.1), so the peer
// reads io.EOF, and may go on writing. It waits until a Write in progress has ended, and then
// takes at most five seconds. The connection below stays open. The handshake must have been done.
// It suspends the task.
func (c *TLSConn) CloseWrite() error {
	t := fd.TaskOf(c.loop, "CloseWrite")
	if err := c.sending.Take(c.loop, t); err != nil {
		return c.fail("close", err)
	}
	defer c.sending.Release(c.loop)
	return c.closeNotify(t)
}

// closeNotify sends close_notify. The caller has the lock sending.
func (c *TLSConn) closeNotify(t kernel.Task) error {
	if err := c.tls.CloseWrite(); err != nil {
		return c.unwrap(err)
	}
	c.noWrites.Store(true)
	_ = c.conn.SetWriteDeadline(c.now(t).Add(closeNotifyTimeout))
	return c.drain()
}

// Close sends close_notify, for five seconds at most, unless someone is sending
// at the moment; then it closes the connection. Everything that waits for it
// fails with net.ErrClosed. Its error is that of closing the connection, or
// else says that close_notify could not be sent. A second Close returns
// net.ErrClosed. In a callback, which must not wait, it sends no close_notify.
// It suspends the task.
func (c *TLSConn) Close() error {
	if c.closed.Swap(true) {
		return net.ErrClosed
	}
	var said error
	inside := c.loop.Inside()
	var t kernel.Task
	if inside {
		t = c.loop.Task()
	}
	callback := inside && t == nil
	if c.ready.Load() && !callback && c.sending.Try() {
		said = c.closeNotify(t)
		c.sending.Release(c.loop)
	}
	if err := c.conn.Close(); err != nil {
		return err
	}
	if said != nil {
		return fmt.Errorf("rondo: the connection is closed, but close_notify was not sent: %w", said)
	}
	return nil
}

// ConnectionState returns what the handshake has agreed on, and the zero value
// during a handshake. It never suspends.
func (c *TLSConn) ConnectionState() tls.ConnectionState {
	if !c.ready.Load() {
		if !c.handshaking.Try() {
			return tls.ConnectionState{}
		}
		defer c.handshaking.Release(c.loop)
	}
	return c.tls.ConnectionState()
}

// VerifyHostname checks that the peer's certificate is valid for a host, as
// tls.Conn's method does. It never suspends.
func (c *TLSConn) VerifyHostname(host string) error {
	if !c.ready.Load() {
		if !c.handshaking.Try() {
			return errors.New("rondo: VerifyHostname during the handshake")
		}
		defer c.handshaking.Release(c.loop)
	}
	return c.tls.VerifyHostname(host)
}

// NetConn returns the connection below. Reading or writing it breaks TLS.
func (c *TLSConn) NetConn() net.Conn { return c.conn }

// LocalAddr returns the address of this end.
func (c *TLSConn) LocalAddr() net.Addr { return c.conn.LocalAddr() }

// RemoteAddr returns the address of the peer.
func (c *TLSConn) RemoteAddr() net.Addr { return c.conn.RemoteAddr() }

// SetDeadline calls SetReadDeadline and SetWriteDeadline.
func (c *TLSConn) SetDeadline(t time.Time) error {
	c.setUntil(t)
	return c.conn.SetDeadline(t)
}

// SetReadDeadline sets the time after which each Read, also one in progress, fails with an error
// that matches os.ErrDeadlineExceeded. The zero time means none. A handshake both reads and
// writes. It never suspends.
func (c *TLSConn) SetReadDeadline(t time.Time) error { return c.conn.SetReadDeadline(t) }

// SetWriteDeadline is SetReadDeadline for writing. CloseWrite and Close set a
// deadline of their own.
func (c *TLSConn) SetWriteDeadline(t time.Time) error {
	c.setUntil(t)
	return c.conn.SetWriteDeadline(t)
}
