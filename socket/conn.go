package socket

// This file has Conn, a connection with two faces: tasks of its loop are
// suspended by it, and any other goroutine may use it as well and blocks alone.

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
)

// A Conn is a TCP or Unix stream connection. It is a net.Conn, and has what a
// *net.TCPConn has besides. Any goroutine may use all of it at any time.
//
// Its errors are those of package net: a *net.OpError around the cause, io.EOF
// excepted, which is bare. A wait of a task that its scope ends fails with the
// scope's cause.
//
// Whoever has a Conn closes it. One that is forgotten is closed by the garbage
// collector, but not before its loop has ended if a task has waited for it.
type Conn struct {
	fd      *fd.FD
	network string
	local   net.Addr
	remote  net.Addr
}

var _ net.Conn = (*Conn)(nil)
var _ syscall.Conn = (*Conn)(nil)
var _ io.ReaderFrom = (*Conn)(nil)
var _ io.WriterTo = (*Conn)(nil)

// Read reads what has arrived into p. It returns io.EOF when the peer has ended
// its side, os.ErrDeadlineExceeded past the deadline, net.ErrClosed after Close.
// If several read at once, each gets data of its own; tasks in the order in
// which they came. If data has arrived when a wait is cancelled it is returned,
// and the next Read fails. It suspends the task.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.fd.Read(p)
	if err != nil {
		err = c.fail("read", err)
	}
	return n, err
}

// Write writes all of p, or fails and tells how much of it was taken. What
// several tasks and goroutines write at once is not mixed. There is no buffer:
// it waits until the system has taken the last byte. It suspends the task.
func (c *Conn) Write(p []byte) (int, error) {
	n, err := c.fd.Write(p)
	if err != nil {
		err = c.fail("write", err)
	}
	return n, err
}

// ReadFrom copies r to the connection until io.EOF, as io.Copy does. In a task on
// Linux, a regular file and what is bulk of another Conn of the loop, either also in
// an io.LimitedReader, go there without coming up to the program (sendfile(2),
// splice(2)). The position of the file has then gone on by what was sent, also
// after an error; of a Conn some that was taken may be lost by one, as with any
// copy. A file that has to be fetched from a disk holds the loop meanwhile, as
// reading it would. It suspends the task.
func (c *Conn) ReadFrom(r io.Reader) (int64, error) {
	if t := c.fd.Task("ReadFrom"); t != nil {
		if n, done, err := c.transfer(t, r); done {
			return n, err
		}
	}
	return io.Copy(struct{ io.Writer }{c}, r)
}

// WriteTo copies the connection to w until io.EOF, as io.Copy does; to another
// Conn as ReadFrom does. It suspends the task.
func (c *Conn) WriteTo(w io.Writer) (int64, error) {
	if to, ok := w.(*Conn); ok {
		return to.ReadFrom(c)
	}
	return io.Copy(w, struct{ io.Reader }{c})
}

// Close ends all operations on the connection with net.ErrClosed, wherever they
// wait, and closes it. A second Close fails. It never suspends.
func (c *Conn) Close() error { return c.fail("close", c.fd.Close()) }

// CloseWrite ends the sending side: the peer reads io.EOF. It never suspends.
func (c *Conn) CloseWrite() error { return c.fail("close", c.shutdown(driver.Writable)) }

// CloseRead ends the receiving side. It never suspends.
func (c *Conn) CloseRead() error { return c.fail("close", c.shutdown(driver.Readable)) }

// LocalAddr gives the address of this end.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr gives the address of the peer.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline is SetReadDeadline and SetWriteDeadline.
func (c *Conn) SetDeadline(t time.Time) error {
	return c.fail("set", c.fd.SetDeadline(driver.Readable|driver.Writable, t))
}

// SetReadDeadline sets the time after which each Read fails with an error that
// is os.ErrDeadlineExceeded, one that waits at the moment included. The zero
// time means none. Setting a later one repairs the connection. It never
// suspends, and costs next to nothing in a task.
func (c *Conn) SetReadDeadline(t time.Time) error {
	return c.fail("set", c.fd.SetDeadline(driver.Readable, t))
}

// SetWriteDeadline is SetReadDeadline for writing. A Write that fails by it may
// have written a part.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	return c.fail("set", c.fd.SetDeadline(driver.Writable, t))
}

// SetNoDelay tells whether small writes are sent at once, which is the default,
// or may wait to be sent together (TCP_NODELAY, RFC 896).
func (c *Conn) SetNoDelay(on bool) error { return c.fail("set", c.setNoDelay(on)) }

// SetKeepAlive tells whether an idle connection is probed (SO_KEEPALIVE).
func (c *Conn) SetKeepAlive(on bool) error { return c.fail("set", c.setKeepAlive(on)) }

// SetKeepAlivePeriod sets how long a connection is idle before it is probed, and
// the time between probes.
func (c *Conn) SetKeepAlivePeriod(d time.Duration) error {
	return c.fail("set", c.setKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: d, Interval: d, Count: -1}))
}

// SetKeepAliveConfig sets all that there is to set about probes.
func (c *Conn) SetKeepAliveConfig(config net.KeepAliveConfig) error {
	return c.fail("set", c.setKeepAliveConfig(config))
}

// SetLinger says what Close does with data that has not been acknowledged:
// negative, the default, sends it in the background; zero drops it and resets
// the connection; positive waits for up to so many seconds, which in Rondo is
// never the loop (SO_LINGER, socket(7)).
func (c *Conn) SetLinger(seconds int) error { return c.fail("set", c.setLinger(seconds)) }

// SetReadBuffer sets the size of the system's receive buffer in bytes.
func (c *Conn) SetReadBuffer(bytes int) error {
	return c.fail("set", setBuffer(c.fd, driver.Readable, bytes))
}

// SetWriteBuffer sets the size of the system's send buffer in bytes.
func (c *Conn) SetWriteBuffer(bytes int) error {
	return c.fail("set", setBuffer(c.fd, driver.Writable, bytes))
}

// File gives a duplicate of the connection as a file, which the caller closes.
func (c *Conn) File() (*os.File, error) {
	f, err := openFile(c.fd, c.network+":"+c.local.String()+"->"+c.remote.String())
	return f, c.fail("file", err)
}

// SyscallConn gives access to the descriptor. Its Read and Write suspend the
// task when the function that they are given is not done.
func (c *Conn) SyscallConn() (syscall.RawConn, error) { return rawConn{c.fd, c.fail}, nil }

// fail makes an error one of package net's.
func (c *Conn) fail(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	var named *net.OpError
	if errors.As(err, &named) {
		return err
	}
	return &net.OpError{Op: op, Net: c.network, Source: c.local, Addr: c.remote, Err: err}
}

// rawConn is what SyscallConn gives.
type rawConn struct {
	fd   *fd.FD
	fail func(op string, err error) error
}

func (r rawConn) Control(op func(sys uintptr)) error {
	return r.fail("raw-control", r.fd.Control(op))
}

func (r rawConn) Read(op func(sys uintptr) bool) error {
	return r.fail("raw-read", wait(r.fd, "SyscallConn", driver.Readable, op))
}

func (r rawConn) Write(op func(sys uintptr) bool) error {
	return r.fail("raw-write", wait(r.fd, "SyscallConn", driver.Writable, op))
}

// wait tries op until it is done, for the method named.
func wait(f *fd.FD, method string, which driver.Events, op func(sys uintptr) bool) error {
	if t := f.Task(method); t != nil {
		err := f.Wait(t, which, op)
		t.Spend(0)
		return err
	}
	err := f.Foreign(which, func(std fd.Std) error {
		raw, err := std.(syscall.Conn).SyscallConn()
		switch {
		case err != nil:
			return err
		case which == driver.Readable:
			return raw.Read(op)
		}
		return raw.Write(op)
	})
	// The caller names the operation.
	if named, ok := errors.AsType[*net.OpError](err); ok {
		return named.Err
	}
	return err
}

// adopt makes a Conn of one of package net's.
func adopt(f *fd.FD, c net.Conn) *Conn {
	mine := &Conn{fd: f, network: c.LocalAddr().Network(), local: c.LocalAddr(), remote: c.RemoteAddr()}
	mine.name()
	return mine
}

// name tells the FD what it is a connection of.
func (c *Conn) name() {
	c.fd.Name(c.remote)
	if _, tcp := c.remote.(*net.TCPAddr); !tcp {
		c.fd.Partial()
	}
}
