//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package socket

import (
	"net"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// inherits says that a connection has the options of its listener, so they need
// not be set on each.
const inherits = runtime.GOOS == "linux"

// prepare sets the options of the connections on the listener.
func (l *Listener) prepare() {
	if _, tcp := l.std.(*net.TCPListener); tcp && inherits {
		_ = l.fd.Control(func(sys uintptr) { tune(int(sys), l.keepAlive) })
	}
}

func (l *Listener) acceptTask(t kernel.Task) (*Conn, error) {
	sys, peer, err := l.fd.Accept(t)
	if err != nil {
		return nil, err
	}
	_, tcp := l.std.(*net.TCPListener)
	if tcp && !inherits {
		tune(sys, l.keepAlive)
	}
	return newConn(l.fd.Loop(), sys, l.Addr().Network(), peer), nil
}

// newConn returns a Conn of a connected socket.
func newConn(loop kernel.Loop, sys int, network string, peer unix.Sockaddr) *Conn {
	c := &Conn{fd: fd.New(loop, sys, makeStd), network: network}
	// It fails only if the connection is gone already; its first use reports
	// that.
	local, _ := unix.Getsockname(sys)
	c.local, c.remote = addr(local, network), addr(peer, network)
	c.name()
	return c
}

// addr returns an address as package net has it.
func addr(sa unix.Sockaddr, network string) net.Addr {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return &net.TCPAddr{IP: sa.Addr[:], Port: sa.Port}
	case *unix.SockaddrInet6:
		return &net.TCPAddr{IP: sa.Addr[:], Port: sa.Port, Zone: zone(sa.ZoneId)}
	case *unix.SockaddrUnix:
		return &net.UnixAddr{Name: sa.Name, Net: network}
	}
	if network == "unix" || network == "unixpacket" {
		return &net.UnixAddr{Net: network}
	}
	return &net.TCPAddr{}
}
