package socket

// Connections and listeners of sockets that exist already: those
// that another process has passed on, and those of C libraries.
//
// The law: the socket is duplicated, as in package net. The file stays the caller's,
// and closing either of the two leaves the other as it is.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// FileConn returns a Conn of a connected stream socket, TCP or Unix, that f is
// open to. ctx names the loop whose tasks use it. It duplicates the socket: the
// caller closes f, before or after, and closing one does not close the other.
// The socket becomes non-blocking in every process that shares it, and a TCP socket gets
// the options that package net gives a new one. It never suspends, and any
// goroutine may call it.
//
// Its errors are those of net.FileConn. One is added: syscall.ENOTCONN if the
// socket is not connected. A datagram socket is errors.ErrUnsupported. If ctx
// belongs to no loop the error is rondo.ErrNoLoop, and in a simulation
// errors.ErrUnsupported.
func FileConn(ctx context.Context, f *os.File) (*Conn, error) {
	loop, fail, err := openedBy(ctx, "FileConn", f)
	if err != nil {
		return nil, err
	}
	std, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	if !streams(std.LocalAddr().Network()) {
		std.Close()
		return nil, fail(fmt.Errorf("a %s socket is not a stream: %w", std.LocalAddr().Network(), errors.ErrUnsupported))
	}
	if std.RemoteAddr() == nil {
		std.Close()
		return nil, fail(errNotOpened)
	}
	c, err := fromStd(loop, std)
	if err != nil {
		return nil, fail(err)
	}
	return c, nil
}

// FileListener returns a Listener of a listening stream socket, TCP or Unix, that
// f is open to: one that a service manager has opened (sd_listen_fds(3)), or a
// process that this one replaces. ctx names the loop whose tasks accept. It
// duplicates the socket: the caller closes f, before or after, and closing one
// does not close the other. Connections that wait in the system's queue are lost
// only when the last process that has the socket closes it. Close leaves the
// file of a Unix socket in place. FileListener never suspends, and any goroutine
// may call it.
//
// Its errors are those of net.FileListener. One is added: syscall.EINVAL if the
// socket does not listen. If ctx belongs to no loop the error is
// rondo.ErrNoLoop, and in a simulation errors.ErrUnsupported.
func FileListener(ctx context.Context, f *os.File) (*Listener, error) {
	loop, fail, err := openedBy(ctx, "FileListener", f)
	if err != nil {
		return nil, err
	}
	l, err := net.FileListener(f)
	if err != nil {
		return nil, err
	}
	std := l.(stdListener)
	if err := mustListen(std); err != nil {
		std.Close()
		return nil, fail(err)
	}
	config := net.KeepAliveConfig{}
	if _, tcp := l.(*net.TCPListener); tcp {
		config = keepAlive(0, config)
	}
	return newListener(loop, std, config), nil
}

// openedBy returns the loop of ctx, and what makes an error of a call about f.
func openedBy(ctx context.Context, call string, f *os.File) (kernel.Loop, func(err error) error, error) {
	loop, err := loopOf(ctx, call)
	if err != nil {
		return nil, nil, err
	}
	if f == nil {
		panic("rondo: socket." + call + " with a nil file")
	}
	fail := func(err error) error {
		return &net.OpError{Op: "file", Net: "file+net", Addr: fileAddr(f.Name()), Err: err}
	}
	if err := fd.Supported(loop); err != nil {
		return nil, nil, fail(err)
	}
	return loop, fail, nil
}

// fileAddr is the name of a file as package net has it in its errors.
type fileAddr string

func (fileAddr) Network() string  { return "file+net" }
func (a fileAddr) String() string { return string(a) }
