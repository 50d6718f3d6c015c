package socket

// Listen opens a Listener. The socket is package net's, so its rules for
// addresses hold; tasks accept from it on the loop.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// A ListenConfig has options for Listen. Its fields mean what those of
// net.ListenConfig do. The zero value is ready.
type ListenConfig struct {
	// Control is called with the socket before it is bound.
	Control func(network, address string, c syscall.RawConn) error

	// KeepAlive is how long an accepted connection is idle before it is probed:
	// 0 means 15 s, a negative value means no probes.
	KeepAlive time.Duration

	// KeepAliveConfig has further options of probes. It is used if its field Enable is set.
	KeepAliveConfig net.KeepAliveConfig

	// ReusePort lets several sockets of one user have the same address, if each
	// of them sets it. The system distributes connections over them
	// (SO_REUSEPORT, socket(7)). Several loops or processes serve one port this
	// way. On a system without it Listen fails with errors.ErrUnsupported.
	//
	// Give each loop a Listener of its own. Loops that share one net.Listener work
	// too, but the loop that looks first takes what there is: one of 8 may get
	// most of the connections.
	//
	// Closing one of the sockets resets the connections that it has not accepted,
	// although the others are open. So close them together, or set the sysctl
	// net.ipv4.tcp_migrate_req on Linux 5.14 or later: then another socket gets
	// these connections.
	ReusePort bool

	// Backlog is how many connections may wait to be accepted. 0 means the
	// system's limit, which is also the most (listen(2)).
	Backlog int
}

// Listen calls Listen of a zero ListenConfig.
func Listen(ctx context.Context, network, address string) (*Listener, error) {
	return new(ListenConfig).Listen(ctx, network, address)
}

// Listen announces on an address of the network "tcp", "tcp4", "tcp6", "unix"
// or "unixpacket". It suspends the task only to look a name up. Any goroutine
// may call it, with a ctx of the loop whose tasks will accept. Errors are those
// of net.Listen. If ctx belongs to no loop the error is rondo.ErrNoLoop. On a host of
// sim.Cluster it announces on the simulated network, in any other simulation it
// fails with errors.ErrUnsupported.
//
// The address of a Unix socket is the path of a file that bind(2) makes, or an
// abstract name, which begins with @ and has no file. If the file belongs to a
// socket that no process has open, Listen replaces it. If a process has that
// socket open, listening or not, or the file is no socket, Listen fails with
// syscall.EADDRINUSE. Close removes the file if it is still the one that Listen
// made. Two processes that replace a stale file at the same moment may remove
// each other's; where that can happen, use a lock on another file.
func (lc *ListenConfig) Listen(ctx context.Context, network, address string) (*Listener, error) {
	loop, err := loopOf(ctx, "Listen")
	if err != nil {
		return nil, err
	}
	fail := func(err error) error { return &net.OpError{Op: "listen", Net: network, Err: err} }
	if simulated(loop) != nil {
		var l *Listener
		done, failed := errand(ctx, loop, network+" "+address, func(ctx context.Context) { l, err = lc.listenVirtual(ctx, loop, network, address) })
		if !done {
			l, err = lc.listenVirtual(ctx, loop, network, address)
		} else if failed != nil {
			err = failed
		}
		if err != nil && !namesOperation(err) {
			err = fail(err)
		}
		if err != nil {
			return nil, err
		}
		return l, nil
	}
	if err := fd.Supported(loop); err != nil {
		return nil, fail(err)
	}
	if ctx.Err() != nil {
		return nil, fail(context.Cause(ctx))
	}
	if !streams(network) {
		return nil, fail(net.UnknownNetworkError(network))
	}
	config, err := lc.std()
	if err != nil {
		return nil, fail(err)
	}
	open := func(ctx context.Context) (net.Listener, error) { return config.Listen(ctx, network, address) }
	var std net.Listener
	var file *socketFile
	if network == "unix" || network == "unixpacket" {
		std, file, err = bind(ctx, address, open)
	} else {
		std, err = lookUp(ctx, loop, address, open)
	}
	if err == nil {
		err = lc.setBacklog(std)
	}
	if err != nil {
		if !namesOperation(err) {
			err = fail(err)
		}
		return nil, err
	}
	if u, unix := std.(*net.UnixListener); unix {
		u.SetUnlinkOnClose(false)
	}
	l := newListener(loop, std.(stdListener), keepAlive(lc.KeepAlive, lc.KeepAliveConfig))
	l.file = file
	l.shared.Store(lc.Control != nil)
	return l, nil
}

// stdListener is what *net.TCPListener and *net.UnixListener have in common.
type stdListener interface {
	net.Listener
	syscall.Conn
	SetDeadline(t time.Time) error
	File() (*os.File, error)
}

// A Listener accepts connections of a TCP or Unix socket. It is a net.Listener.
// Any goroutine may call any method at any time: Accept suspends a task, and
// blocks any other goroutine alone.
type Listener struct {
	fd        *fd.FD
	std       stdListener
	keepAlive net.KeepAliveConfig
	bound     net.Addr // see bound
	file      *socketFile
	shared    atomic.Bool  // the program may have a descriptor of the same open file
	virtual   bool         // it is a socket of the driver
	early     atomic.Int32 // connections to come that do not have its options
}

var _ net.Listener = (*Listener)(nil)

func newListener(loop kernel.Loop, std stdListener, config net.KeepAliveConfig) *Listener {
	l := &Listener{fd: fd.Adopt(loop, listenerStd{std}), std: std, keepAlive: config, bound: bound(std)}
	fd.Guard(l.fd, l)
	l.shared.Store(true)
	l.prepare()
	return l
}

// listenerStd is a listener as an fd.Std.
type listenerStd struct{ stdListener }

func (listenerStd) Read([]byte) (int, error)             { return 0, errors.ErrUnsupported }
func (listenerStd) Write([]byte) (int, error)            { return 0, errors.ErrUnsupported }
func (f listenerStd) SetReadDeadline(t time.Time) error  { return f.SetDeadline(t) }
func (f listenerStd) SetWriteDeadline(t time.Time) error { return nil }

// Accept waits for the next connection and returns it as a *Conn. It fails with
// net.ErrClosed after Close, with os.ErrDeadlineExceeded past the deadline, and
// with the cause if the task's scope is cancelled. After an error of the
// system, such as syscall.EMFILE, the connection can still be accepted later.
// It suspends the task.
func (l *Listener) Accept() (net.Conn, error) { return l.accept(use{}) }

// A use says what becomes of an accepted connection.
type use struct {
	owned   bool // the caller closes it in any case, so the garbage collector need not
	watched bool // usually no task waits to read
}

func (l *Listener) accept(use use) (net.Conn, error) {
	var c *Conn
	var err error
	if t := l.fd.Task("Accept"); t != nil {
		c, err = l.acceptTask(t, use)
	} else {
		c, err = l.acceptForeign()
	}
	if err != nil {
		return nil, l.fail("accept", err)
	}
	return c, nil
}

// acceptForeign accepts for a goroutine that is no task of the loop. The loop's
// descriptor is opened when a task first uses the connection.
func (l *Listener) acceptForeign() (c2 *Conn, err error) {
	done, failed := l.fd.Take(func() { c2, err = l.acceptTask(l.fd.Task("Accept"), use{}) })
	if done {
		return c2, cmp.Or(failed, err)
	}
	var c net.Conn
	err = l.fd.Foreign(driver.Readable, func(fd.Std) (err error) {
		c, err = l.std.Accept()
		return err
	})
	if err != nil {
		return nil, err
	}
	return adopt(fd.Adopt(l.fd.Loop(), c.(fd.Std)), c), nil
}

// Close stops listening. Every Accept fails with net.ErrClosed, also one that
// waits. Accepted connections stay open. The file of a Unix socket is removed
// if Listen made it. A second Close fails. It never suspends.
func (l *Listener) Close() error {
	l.file.remove()
	return l.fail("close", l.fd.Close())
}

// Addr returns the listener's address.
func (l *Listener) Addr() net.Addr { return l.std.Addr() }

// SetDeadline sets the time after which each Accept, also one in progress, fails with an error
// that matches os.ErrDeadlineExceeded. The zero time means none. It never suspends.
func (l *Listener) SetDeadline(t time.Time) error {
	return l.fail("set", l.fd.SetDeadline(driver.Readable, t))
}

// File returns a duplicate of the listener as a file. The caller closes it.
func (l *Listener) File() (*os.File, error) {
	l.shared.Store(true)
	return l.std.File()
}

// SyscallConn returns access to the descriptor.
func (l *Listener) SyscallConn() (syscall.RawConn, error) {
	l.shared.Store(true)
	return l.std.SyscallConn()
}

func (l *Listener) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	if namesOperation(err) {
		return err
	}
	return &net.OpError{Op: op, Net: l.Addr().Network(), Addr: l.Addr(), Err: err}
}

// adoptListener returns a listener of package net as a Listener. A Listener of
// another loop would block this one.
func adoptListener(loop kernel.Loop, call string, l net.Listener) (net.Listener, error) {
	switch std := l.(type) {
	case *Listener:
		if std.fd.Loop() != loop {
			return nil, fmt.Errorf("rondo: socket.%s on %s: the Listener belongs to another loop", call, l.Addr())
		}
	case *net.TCPListener:
		return newListener(loop, std, keepAlive(0, net.KeepAliveConfig{})), nil
	case *net.UnixListener:
		return newListener(loop, std, net.KeepAliveConfig{}), nil
	}
	return l, nil
}
