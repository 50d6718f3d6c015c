//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package socket

import (
	"net"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/fd"
)

// acceptStream waits for a connection. Only tasks may call it.
func (l *Listener) acceptStream() (fd.Stream, peerAddr, error) {
	sys, peer, err := l.fd.Accept(l.fd.Task("Serve"), &l.shared)
	if err != nil {
		return fd.Stream{}, peerAddr{}, err
	}
	if _, tcp := l.std.(*net.TCPListener); tcp && !inherits {
		tune(sys, l.keepAlive)
	}
	return fd.NewStream(sys, !l.shared.Load()), addrPort(peer), nil
}

// addrs returns the addresses that the system knows, nil for the others.
func (t *Transport) addrs() (local, remote net.Addr) {
	sys := t.stream.Sys()
	if sys < 0 {
		return nil, nil
	}
	network := "tcp"
	here, err := unix.Getsockname(sys)
	if _, ok := here.(*unix.SockaddrUnix); ok {
		network = "unix"
	}
	if err == nil {
		local = addr(here, network)
	}
	if peer, err := unix.Getpeername(sys); err == nil {
		remote = addr(peer, network)
	}
	return local, remote
}
