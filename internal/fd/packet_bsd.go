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
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return n, Peer{Addr: netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))}, 0
	case *unix.SockaddrInet6:
		return n, Peer{Addr: netip.AddrPortFrom(netip.AddrFrom16(sa.Addr), uint16(sa.Port)), Zone: sa.ZoneId}, 0
	case *unix.SockaddrUnix:
		return n, Peer{Name: sa.Name}, 0
	}
	return n, Peer{}, 0
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
