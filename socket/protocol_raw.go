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

// addrs returns the addresses that are known, nil for the others. It asks the system for
// those that accept has not said.
func (t *Transport) addrs() (local, remote net.Addr) {
	sys := t.stream.Sys()
	if t.peer.IsValid() {
		if here := fd.LocalPeer(sys); here.Addr.IsValid() {
			local = peerAddress(here, "tcp")
		}
		return local, net.TCPAddrFromAddrPort(t.peer)
	}
	if sys < 0 {
		return nil, nil
	}
	here, network := fd.LocalPeer(sys), "tcp"
	if !here.Addr.IsValid() {
		network = "unix"
	}
	if peer, err := unix.Getpeername(sys); err == nil {
		remote = addr(peer, network)
	}
	return peerAddress(here, network), remote
}
