package httptask

// A handler that hijacks its connection gets net/http's, wrapped: it suspends the
// task that reads from it or writes to it.

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/rondo-go/rondo/internal/kernel"
)

// hijack takes the connection over. What net/http has read of it stays in the reader, and so
// does a body that was read ahead of the handler, unless it came in chunks.
func (x *exchange) hijack() (c net.Conn, rw *bufio.ReadWriter, err error) {
	if proxied(x.handler.loop) {
		return nil, nil, errProxied
	}
	err = x.do(writing, func() (err error) {
		if err = x.response.emit(x.writer); err != nil {
			return err
		}
		c, rw, err = x.control().Hijack()
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	x.mu.Lock()
	x.response.hijacked = true
	x.mu.Unlock()
	own := &conn{Conn: c, loop: x.handler.loop}
	buffered, err := rw.Reader.Peek(rw.Reader.Buffered())
	if err != nil {
		return nil, nil, err
	}
	early := append(x.unread(), buffered...)
	reader := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(early), own), max(rw.Reader.Size(), len(early)))
	if _, err := reader.Peek(len(early)); err != nil {
		return nil, nil, err
	}
	rw = bufio.NewReadWriter(reader, bufio.NewWriterSize(own, rw.Writer.Size()))
	x.mu.Lock()
	x.taken, x.reader = own, reader
	x.mu.Unlock()
	if half, ok := c.(halfCloser); ok {
		return &halfConn{own, half}, rw, nil
	}
	return own, rw, nil
}

// A halfCloser is a connection whose sending side can end alone.
type halfCloser interface{ CloseWrite() error }

// A conn is a connection that suspends the task that waits for it. A goroutine that is
// no task blocks alone. A task that is cancelled leaves it as it was, but for what a
// Write has sent of its bytes.
type conn struct {
	net.Conn
	loop kernel.Loop

	mu        sync.Mutex
	deadlines [2]time.Time // that the user has set
	cut       [2]int       // calls that are being interrupted
}

func (c *conn) Read(p []byte) (n int, err error) { return c.do(reading, c.Conn.Read, p) }

func (c *conn) Write(p []byte) (n int, err error) { return c.do(writing, c.Conn.Write, p) }

func (c *conn) do(d direction, fn func(p []byte) (int, error), p []byte) (n int, err error) {
	t := taskOf(c.loop, "a connection")
	if t == nil {
		return fn(p)
	}
	interrupted := false
	err = away(c.loop, t, connWaits[d], func() (err error) {
		n, err = fn(p)
		return err
	}, func() {
		interrupted = true
		c.interrupt(d, 1)
	})
	if interrupted {
		c.interrupt(d, -1)
	}
	return n, err
}

// A halfConn is a conn whose sending side can end alone. httputil.ReverseProxy asks whether it has
// the method.
type halfConn struct {
	*conn
	half halfCloser
}

// CloseWrite ends the sending side. With TLS that may wait for the peer.
func (c *halfConn) CloseWrite() error {
	_, err := c.do(writing, func([]byte) (int, error) { return 0, c.half.CloseWrite() }, nil)
	return err
}

var connWaits = [2]string{reading: "read", writing: "write"}

// interrupt begins or ends the interruption of calls in one direction: by a deadline
// in the past. In the end the one that the user has set holds again.
func (c *conn) interrupt(d direction, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut[d] += by
	_ = c.apply(d) // it fails if the connection is closed, which ends the call as well
}

// apply sets the deadline of one direction. mu is held.
func (c *conn) apply(d direction) error {
	at := c.deadlines[d]
	if c.cut[d] > 0 {
		at = past
	}
	if d == reading {
		return c.Conn.SetReadDeadline(at)
	}
	return c.Conn.SetWriteDeadline(at)
}

func (c *conn) setDeadline(at time.Time, ds ...direction) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range ds {
		c.deadlines[d] = at
		if err := c.apply(d); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) SetDeadline(at time.Time) error      { return c.setDeadline(at, reading, writing) }
func (c *conn) SetReadDeadline(at time.Time) error  { return c.setDeadline(at, reading) }
func (c *conn) SetWriteDeadline(at time.Time) error { return c.setDeadline(at, writing) }

// Close closes the connection, which with TLS may wait for the peer. It is done also by
// a task that is cancelled.
func (c *conn) Close() error {
	t := taskOf(c.loop, "a connection")
	if t == nil {
		return c.Conn.Close()
	}
	return awayToEnd(c.loop, t, "close", c.Conn.Close)
}

// errProxied is the error of a Hijack by which httputil.ReverseProxy, in a task, would switch
// protocols, as for a WebSocket: it would wait by a channel until the connection ends, and stop
// the loop for as long.
var errProxied = errors.New("rondo: httptask: switching protocols by httputil.ReverseProxy would stop the loop; put Blocking around it")

// proxied reports whether a task is about to wait so.
func proxied(loop kernel.Loop) bool {
	if !loop.Inside() {
		return false
	}
	var pc [16]uintptr
	frames := runtime.CallersFrames(pc[:runtime.Callers(2, pc[:])])
	for {
		f, more := frames.Next()
		if f.Function == "net/http/httputil.(*ReverseProxy).handleUpgradeResponse" {
			return true
		}
		if !more {
			return false
		}
	}
}
