package socket

// This file has Listen and Listener. A listener is package net's, so all that
// can be said to that one holds; tasks accept from it on the loop.

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// A ListenConfig has options for Listen. Its fields mean what those of
// net.ListenConfig do. The zero value is ready.
type ListenConfig struct {
	// Control is called with the socket before it is bound.
	Control func(network, address string, c syscall.RawConn) error

	// KeepAlive is how long an accepted connection is idle before it is probed: 0
	// stands for 15 s, a negative value for no probes.
	KeepAlive time.Duration

	// KeepAliveConfig says more about probes, and is used if it is enabled.
	KeepAliveConfig net.KeepAliveConfig

	// ReusePort lets several sockets have one address, as long as each of them
	// says so and they are the same user's: the system spreads what arrives over
	// them (SO_REUSEPORT, socket(7)). It is how several loops, or processes,
	// serve one port. A system without it gives errors.ErrUnsupported.
	ReusePort bool

	// Backlog is how many connections may wait to be accepted. 0 means as many
	// as the system allows, which is the most in any case (listen(2)).
	Backlog int
}

// Listen listens with a ListenConfig that has nothing set.
func Listen(ctx context.Context, network, address string) (*Listener, error) {
	return new(ListenConfig).Listen(ctx, network, address)
}

// Listen announces on an address of the network "tcp", "tcp4", "tcp6", "unix" or
// "unixpacket". It waits only if the address has a name that must be looked up,
// and only then does it suspend the task. Any goroutine may call it, with a ctx
// of the loop whose tasks will accept. Errors are those of net.Listen; a ctx that
// belongs to no loop is rondo.ErrNoLoop, and a loop without sockets
// errors.ErrUnsupported.
//
// The address of a Unix socket is the path of a file that bind(2) makes, or an
// abstract name, which begins with @ and has no file. The file of a socket that
// nobody holds any more is replaced; whoever holds one, listening or not, and any
// file that is no socket, makes Listen fail with syscall.EADDRINUSE. Close removes
// the file, if it is still the one that Listen made: not one that has taken its
// place since. Two that replace a stale file at the same moment may remove each
// other's; where that can happen, a lock on another file decides.
func (lc *ListenConfig) Listen(ctx context.Context, network, address string) (*Listener, error) {
	loop, err := loopOf(ctx, "Listen")
	if err != nil {
		return nil, err
	}
	fail := func(err error) error { return &net.OpError{Op: "listen", Net: network, Err: err} }
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
		var named *net.OpError
		if !errors.As(err, &named) {
			err = fail(err)
		}
		return nil, err
	}
	if u, unix := std.(*net.UnixListener); unix {
		u.SetUnlinkOnClose(false)
	}
	l := newListener(loop, std.(stdListener), keepAlive(lc.KeepAlive, lc.KeepAliveConfig))
	l.file = file
	return l, nil
}

// loopOf gives the loop that ctx belongs to.
func loopOf(ctx context.Context, call string) (kernel.Loop, error) {
	if loop := kernel.Of(ctx); loop != nil {
		return loop, nil
	}
	return nil, kernel.Misuse("socket."+call, rondo.ErrNoLoop)
}

// keepAlive gives what package net makes of its two fields.
func keepAlive(idle time.Duration, config net.KeepAliveConfig) net.KeepAliveConfig {
	if !config.Enable && idle >= 0 {
		return net.KeepAliveConfig{Enable: true, Idle: idle}
	}
	return config
}

// stdListener is what *net.TCPListener and *net.UnixListener have in common.
type stdListener interface {
	net.Listener
	syscall.Conn
	SetDeadline(t time.Time) error
	File() (*os.File, error)
}

// A Listener accepts connections of a TCP or Unix socket. It is a net.Listener.
// Any goroutine may use all of it at any time: Accept suspends a task, and
// blocks another goroutine alone.
type Listener struct {
	fd        *fd.FD
	std       stdListener
	keepAlive net.KeepAliveConfig
	file      *socketFile
}

var _ net.Listener = (*Listener)(nil)

func newListener(loop kernel.Loop, std stdListener, config net.KeepAliveConfig) *Listener {
	l := &Listener{fd: fd.Adopt(loop, listenerStd{std}), std: std, keepAlive: config}
	l.prepare()
	return l
}

// listenerStd is a listener in the place of a connection.
type listenerStd struct{ stdListener }

func (listenerStd) Read([]byte) (int, error)             { return 0, errors.ErrUnsupported }
func (listenerStd) Write([]byte) (int, error)            { return 0, errors.ErrUnsupported }
func (f listenerStd) SetReadDeadline(t time.Time) error  { return f.SetDeadline(t) }
func (f listenerStd) SetWriteDeadline(t time.Time) error { return nil }

// Accept waits for the next connection; it is a *Conn. It fails after Close with
// net.ErrClosed, past the deadline with os.ErrDeadlineExceeded, and if the task's
// scope is cancelled with the cause. An error of the system, such as
// syscall.EMFILE, loses no connection: it can be accepted later. It suspends the
// task.
func (l *Listener) Accept() (net.Conn, error) {
	var c *Conn
	var err error
	if t := l.fd.Task("Accept"); t != nil {
		c, err = l.acceptTask(t)
	} else {
		c, err = l.acceptForeign()
	}
	if err != nil {
		return nil, l.fail("accept", err)
	}
	return c, nil
}

// acceptForeign accepts for a goroutine that is no task of the loop. The
// connection gets a face on the loop when a task first uses it.
func (l *Listener) acceptForeign() (*Conn, error) {
	var c net.Conn
	err := l.fd.Foreign(driver.Readable, func(fd.Std) (err error) {
		c, err = l.std.Accept()
		return err
	})
	if err != nil {
		return nil, err
	}
	return adopt(fd.Adopt(l.fd.Loop(), c.(fd.Std)), c), nil
}

// Close stops listening. Every Accept fails with net.ErrClosed, one that waits
// included. Connections that were accepted are not touched. The file of a Unix
// socket is removed if Listen has made it. A second Close fails. It never
// suspends.
func (l *Listener) Close() error {
	l.file.remove()
	return l.fail("close", l.fd.Close())
}

// Addr gives the address that is listened on.
func (l *Listener) Addr() net.Addr { return l.std.Addr() }

// SetDeadline sets the time after which each Accept fails with an error that is
// os.ErrDeadlineExceeded, one that waits at the moment included. The zero time
// means none. It never suspends.
func (l *Listener) SetDeadline(t time.Time) error {
	return l.fail("set", l.fd.SetDeadline(driver.Readable, t))
}

// File gives a duplicate of the listener as a file, which the caller closes.
func (l *Listener) File() (*os.File, error) { return l.std.File() }

// SyscallConn gives access to the descriptor.
func (l *Listener) SyscallConn() (syscall.RawConn, error) { return l.std.SyscallConn() }

func (l *Listener) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	var named *net.OpError
	if errors.As(err, &named) {
		return err
	}
	return &net.OpError{Op: op, Net: l.Addr().Network(), Addr: l.Addr(), Err: err}
}
