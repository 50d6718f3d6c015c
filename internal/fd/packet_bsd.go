//go:build (darwin || freebsd || dragonfly) && !rondo_portable

package fd

// The two system calls of datagrams.

import (
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

func receiveFrom(sys int, p []byte) (int, Peer, syscall.Errno) {
	n, sa, err := unix.Recvfrom(sys, p, 0)
	if err != nil {
		return 0, Peer{}, errnoOf(err)
	}
	return n, peerOf(sa), 0
}

func peerOf(sa unix.Sockaddr) Peer {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return Peer{Addr: netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))}
	case *unix.SockaddrInet6:
		return Peer{Addr: netip.AddrPortFrom(netip.AddrFrom16(sa.Addr), uint16(sa.Port)), Zone: sa.ZoneId}
	case *unix.SockaddrUnix:
		return Peer{Name: sa.Name}
	}
	return Peer{}
}

func sendTo(sys int, p []byte, to Peer, six bool) syscall.Errno {
	a, port := to.Addr.Addr(), int(to.Addr.Port())
	var sa unix.Sockaddr
	switch {
	case !to.Addr.IsValid():
		sa = &unix.SockaddrUnix{Name: to.Name}
	case six:
		sa = &unix.SockaddrInet6{Addr: a.As16(), Port: port, ZoneId: to.Zone}
	default:
		sa = &unix.SockaddrInet4{Addr: a.Unmap().As4(), Port: port}
	}
	return errnoOf(unix.Sendto(sys, p, 0, sa))
}
