//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package socket

// Dialling on the loop: a non-blocking socket, connect(2), and the driver's
// report that it is connected.

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// dialTask dials for a task.
func (d *Dialer) dialTask(ctx context.Context, loop kernel.Loop, network, address string) (*Conn, error) {
	if network == "unix" || network == "unixpacket" {
		return d.dialUnix(ctx, loop, network, address)
	}
	return d.dialEach(ctx, network, address, func(ctx context.Context, local, to netip.AddrPort) (*Conn, error) {
		return d.connect(ctx, loop, network, local, to)
	})
}

// dialUnix connects to a Unix socket. That never waits: there is room in the
// peer's queue, or connect(2) fails with EAGAIN. So package net does it here,
// and the descriptor is duplicated.
func (d *Dialer) dialUnix(ctx context.Context, loop kernel.Loop, network, address string) (*Conn, error) {
	c, err := d.std().DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	sys, err := fd.Dup(c)
	if err != nil {
		return nil, err
	}
	return adopt(fd.New(loop, sys, makeStd), c), nil
}

// selfMax is how often to try again when a socket was connected to itself: the
// system may pick the same free port for both ends (RFC 9293, simultaneous
// open).
const selfMax = 2

// connect tries one address.
func (d *Dialer) connect(ctx context.Context, loop kernel.Loop, network string, local netip.AddrPort, to netip.AddrPort) (*Conn, error) {
	fail := func(err error) error {
		e := &net.OpError{Op: "dial", Net: network, Addr: net.TCPAddrFromAddrPort(to), Err: err}
		if local.IsValid() {
			e.Source = net.TCPAddrFromAddrPort(local)
		}
		return e
	}
	for self := 0; ; self++ {
		sys, err := d.socket(ctx, network, local, to)
		if err != nil {
			return nil, fail(err)
		}
		f := fd.New(loop, sys, makeStd)
		if d.Control == nil && d.ControlContext == nil {
			f.Sole(true)
		}
		if err := connectOrClose(f, loop.Task(), to); err != nil {
			return nil, fail(err)
		}
		here, _ := unix.Getsockname(sys)
		peer, err := unix.Getpeername(sys)
		if err != nil {
			f.Close()
			return nil, fail(os.NewSyscallError("getpeername", err))
		}
		c := &Conn{fd: f, of: networkOf(network), local: addr(here, network), remote: addr(peer, network)}
		if self < selfMax && !local.IsValid() && c.local.String() == c.remote.String() {
			f.Close()
			continue
		}
		f.Prepare()
		c.name(false)
		tune(sys, keepAlive(d.KeepAlive, d.KeepAliveConfig))
		return c, nil
	}
}

// connectOrClose connects f, and closes it if that fails or does not return: a
// callback's Goexit unwinds the task on whose stack it ran.
func connectOrClose(f *fd.FD, t kernel.Task, to netip.AddrPort) error {
	connected := false
	defer func() {
		if !connected {
			f.Close()
		}
	}()
	err := f.Connect(t, sockaddr(to))
	connected = err == nil
	return err
}

// socket opens a socket for to, bound to local if that is valid.
func (d *Dialer) socket(ctx context.Context, network string, local, to netip.AddrPort) (int, error) {
	family := unix.AF_INET
	if to.Addr().Is6() {
		family = unix.AF_INET6
	}
	sys, err := open(family)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	ready := false
	defer func() {
		if !ready {
			unix.Close(sys) // also if a hook panics
		}
	}()
	if err := d.prepare(ctx, sys, network, local, to); err != nil {
		return -1, err
	}
	ready = true
	return sys, nil
}

// prepare does what comes before the connect.
func (d *Dialer) prepare(ctx context.Context, sys int, network string, local, to netip.AddrPort) error {
	kind := "tcp4"
	if to.Addr().Is6() {
		kind = "tcp6"
		_ = setFlag(sys, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, network == "tcp6")
	}
	var err error
	switch hook := rawSocket(sys); {
	case d.ControlContext != nil:
		err = d.ControlContext(ctx, kind, to.String(), hook)
	case d.Control != nil:
		err = d.Control(kind, to.String(), hook)
	}
	if err != nil || !local.IsValid() {
		return err
	}
	if local.Addr().IsUnspecified() {
		any := netip.IPv4Unspecified()
		if to.Addr().Is6() {
			any = netip.IPv6Unspecified()
		}
		local = netip.AddrPortFrom(any, local.Port())
	}
	return os.NewSyscallError("bind", unix.Bind(sys, sockaddr(local)))
}

// rawSocket is the argument of the Control hooks.
type rawSocket int

func (s rawSocket) Control(op func(sys uintptr)) error {
	op(uintptr(s))
	return nil
}

func (s rawSocket) Read(func(sys uintptr) bool) error  { return errNotConnected }
func (s rawSocket) Write(func(sys uintptr) bool) error { return errNotConnected }

var errNotConnected = errors.New("rondo: the socket is not connected yet")

var _ syscall.RawConn = rawSocket(0)
