package socket

// A Conn suspends tasks of its loop, and blocks any other goroutine alone.

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/nocopy"
)

// A Conn is a TCP or Unix stream connection. It is a net.Conn with the further
// methods of a *net.TCPConn. Any goroutine may call any method at any time.
//
// Its errors are those of package net: a *net.OpError around the cause, except
// io.EOF, which is bare. If a task's scope is cancelled, the cause is the
// scope's.
//
// The caller closes a Conn. A forgotten one is closed by the garbage collector.
type Conn struct {
	_      nocopy.Field
	fd     *fd.FD
	local  net.Addr // the listener's, if that has only one; see bound
	remote net.Addr // a *packedAddr if it is seldom asked for
	of     network
}

var _ net.Conn = (*Conn)(nil)
var _ syscall.Conn = (*Conn)(nil)
var _ io.ReaderFrom = (*Conn)(nil)
var _ io.WriterTo = (*Conn)(nil)

// Read reads available data into p. It returns io.EOF when the peer has ended
// its side, os.ErrDeadlineExceeded past the deadline, net.ErrClosed after
// Close. Several readers each get different data, tasks in the order in which
// they came. Data that has arrived when a wait is cancelled is returned, and
// the next Read fails. It suspends the task.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.fd.Read(p)
	if err != nil {
		err = c.fail("read", err)
	}
	return n, err
}

// Write writes all of p, or fails and returns how much of it the system has
// taken. Concurrent writes, of tasks and of goroutines, are not mixed. There is
// no buffer: Write waits until the system has taken the last byte. It suspends
// the task.
func (c *Conn) Write(p []byte) (int, error) {
	n, err := c.fd.Write(p)
	if err != nil {
		err = c.fail("write", err)
	}
	return n, err
}

// watchInput is fd.FD.WatchInput.
func (c *Conn) watchInput(w fd.Watcher) (ready bool) { return c.fd.WatchInput(w) }

// activity is fd.FD.Activity.
func (c *Conn) activity() (read, wrote bool) { return c.fd.Activity() }

// ReadFrom copies r to the connection until io.EOF, as io.Copy does. It
// suspends the task.
//
// On Linux, in a task, the kernel moves the data if r is a regular file or a Conn of the same
// loop that has much to read (sendfile(2), splice(2)); r may be inside an io.LimitedReader. The
// position of a file advances by what was sent, also after an error. After an error, data that
// was read from a Conn may be lost, as with any copy. If the file must be read from a disk, that
// blocks the loop, as any read of a file does.
func (c *Conn) ReadFrom(r io.Reader) (int64, error) {
	if t := c.fd.Task("ReadFrom"); t != nil {
		if n, done, err := c.transfer(t, r); done {
			return n, err
		}
	}
	return io.Copy(struct{ io.Writer }{c}, r)
}

// WriteTo copies the connection to w until io.EOF, as io.Copy does. If w is a
// Conn, it does what ReadFrom does. It suspends the task.
func (c *Conn) WriteTo(w io.Writer) (int64, error) {
	if to, ok := w.(*Conn); ok {
		return to.ReadFrom(c)
	}
	return io.Copy(w, struct{ io.Reader }{c})
}

// Close ends all operations on the connection with net.ErrClosed, also those
// that wait, and closes it. A second Close fails. It never suspends.
func (c *Conn) Close() error { return c.fail("close", c.fd.Close()) }

// CloseWrite ends the sending side: the peer reads io.EOF. It never suspends.
func (c *Conn) CloseWrite() error { return c.fail("close", c.shutdown(driver.Writable)) }

// CloseRead ends the receiving side. It never suspends.
func (c *Conn) CloseRead() error { return c.fail("close", c.shutdown(driver.Readable)) }

// LocalAddr returns the address of this end.
func (c *Conn) LocalAddr() net.Addr {
	return askLocal(c.fd, c.local)
}

// RemoteAddr returns the address of the peer.
func (c *Conn) RemoteAddr() net.Addr {
	if p, ok := c.remote.(interface{ Unpack() net.Addr }); ok {
		return p.Unpack()
	}
	return c.remote
}

// SetDeadline calls SetReadDeadline and SetWriteDeadline.
func (c *Conn) SetDeadline(t time.Time) error {
	return c.fail("set", c.fd.SetDeadline(driver.Readable|driver.Writable, t))
}

// SetReadDeadline sets the time after which each Read, also one in progress, fails with an error
// that matches os.ErrDeadlineExceeded. The zero time means none. A later deadline makes the
// connection usable again. It never suspends, and costs next to nothing in a task.
func (c *Conn) SetReadDeadline(t time.Time) error {
	return c.fail("set", c.fd.SetDeadline(driver.Readable, t))
}

// SetWriteDeadline is SetReadDeadline for writing. A Write that exceeds its deadline may have
// written a part.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	return c.fail("set", c.fd.SetDeadline(driver.Writable, t))
}

// SetNoDelay sets whether small writes are sent at once, which is the default,
// or may be delayed and sent together (TCP_NODELAY, RFC 896).
func (c *Conn) SetNoDelay(on bool) error {
	return c.option(func() error { return setNoDelay(c.fd, on) })
}

// option sets an option. One that is not simulated changes nothing there.
func (c *Conn) option(set func() error) error {
	done, err := ignored(c.fd)
	if !done {
		err = set()
	}
	return c.fail("set", err)
}

// SetKeepAlive sets whether an idle connection is probed (SO_KEEPALIVE).
func (c *Conn) SetKeepAlive(on bool) error {
	return c.option(func() error { return setKeepAlive(c.fd, on) })
}

// SetKeepAlivePeriod sets how long a connection is idle before it is probed, and
// the time between probes.
func (c *Conn) SetKeepAlivePeriod(d time.Duration) error {
	return c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: d, Interval: d, Count: -1})
}

// SetKeepAliveConfig sets all options of keep-alive probes.
func (c *Conn) SetKeepAliveConfig(config net.KeepAliveConfig) error {
	return c.option(func() error { return setKeepAliveConfig(c.fd, config) })
}

// SetLinger sets what Close does with data that the peer has not acknowledged.
// A negative value, the default, sends it in the background. Zero drops it and
// resets the connection. A positive value waits up to that many seconds, on
// another goroutine and never on the loop (SO_LINGER, socket(7)).
func (c *Conn) SetLinger(seconds int) error {
	done, err := setVirtual(c.fd, driver.Linger, seconds)
	if !done {
		err = setLinger(c.fd, seconds)
	}
	return c.fail("set", err)
}

// SetReadBuffer sets the size of the system's receive buffer in bytes.
func (c *Conn) SetReadBuffer(bytes int) error {
	return c.fail("set", setBuffer(c.fd, driver.Readable, bytes))
}

// SetWriteBuffer sets the size of the system's send buffer in bytes.
func (c *Conn) SetWriteBuffer(bytes int) error {
	return c.fail("set", setBuffer(c.fd, driver.Writable, bytes))
}

// File returns a duplicate of the connection as a file. The caller closes it.
func (c *Conn) File() (*os.File, error) {
	f, err := openFile(c.fd, c.of.String()+":"+c.local.String()+"->"+c.RemoteAddr().String())
	return f, c.fail("file", err)
}

// SyscallConn returns access to the descriptor. Its Read and Write suspend the
// task while the function that they are given returns false.
func (c *Conn) SyscallConn() (syscall.RawConn, error) { return rawConn{c.fd, c.fail}, nil }

// fail returns err as package net would.
func (c *Conn) fail(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if namesOperation(err) {
		return err
	}
	return &net.OpError{Op: op, Net: c.of.String(), Source: c.local, Addr: c.RemoteAddr(), Err: err}
}

// namesOperation reports whether err, which may be a cause of the program's, has a *net.OpError
// in it.
func namesOperation(err error) bool {
	_, named := errtree.As[*net.OpError](err)
	return named
}

// rawConn is the result of SyscallConn.
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

// wait calls op until it reports that it is done. method is the name of the
// caller for errors.
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
	// The caller adds the name of the operation.
	if named, ok := errors.AsType[*net.OpError](err); ok {
		return named.Err
	}
	return err
}

// adopt returns a Conn of a connection of package net.
func adopt(f *fd.FD, c net.Conn) *Conn {
	mine := &Conn{fd: f, local: c.LocalAddr(), remote: c.RemoteAddr(), of: networkOf(c.LocalAddr().Network())}
	mine.name(false)
	return mine
}

// name tells the FD its peer, and how its reads end. owned says that nobody
// forgets to close it.
func (c *Conn) name(owned bool) {
	if !owned {
		fd.Guard(c.fd, c)
	}
	c.fd.Connected(c.remote)
	if c.remote.Network() != "tcp" {
		c.fd.Partial(c.of.String() == "unixpacket")
	}
}

// shutdown ends one direction.
func (c *Conn) shutdown(which driver.Events) error {
	if c.fd.Virtual() == nil {
		return shutdownSystem(c.fd, which)
	}
	return c.fd.OnVirtual(func(v driver.Socket) error { return os.NewSyscallError("shutdown", v.Shutdown(which)) })
}

// A watchable is a connection that needs no task to find out that there is
// something to read.
type watchable interface {
	net.Conn

	// watchInput is fd.FD.WatchInput, but it may suspend the task.
	watchInput(w fd.Watcher) (ready bool)
}
