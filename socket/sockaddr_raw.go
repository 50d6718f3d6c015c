//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package socket

import (
	"net"
	"net/netip"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/fd"
)

// zone returns the name of the interface with an IPv6 scope number, and index
// the number of a named one.
func zone(id uint32) string {
	if id == 0 {
		return ""
	}
	if i, err := net.InterfaceByIndex(int(id)); err == nil {
		return i.Name
	}
	return strconv.Itoa(int(id))
}

func index(zone string) uint32 {
	if zone == "" {
		return 0
	}
	if i, err := net.InterfaceByName(zone); err == nil {
		return uint32(i.Index)
	}
	n, _ := strconv.Atoi(zone)
	return uint32(n)
}

// A packedAddr is the address of a TCP peer in a third of the memory of a
// *net.TCPAddr. A Conn has it if its address is seldom asked for.
type packedAddr struct {
	ip   [16]byte
	zone uint32
	port uint16
	four bool // ip is an IPv4 address
}

// pack returns a, whose zone may be a number that a does not name.
func pack(a netip.AddrPort, zone uint32) *packedAddr {
	return &packedAddr{a.Addr().As16(), zone, a.Port(), a.Addr().Is4()}
}

// Unpack returns the address as package net has it.
func (p *packedAddr) Unpack() net.Addr {
	a := &tcpAddr{ip: p.ip}
	a.IP, a.Port, a.Zone = a.ip[:], int(p.port), zone(p.zone)
	if p.four {
		a.IP = a.ip[12:]
	}
	return &a.TCPAddr
}

func (p *packedAddr) Network() string { return "tcp" }
func (p *packedAddr) String() string  { return p.Unpack().String() }

// tcpAddr is a TCPAddr with its IP.
type tcpAddr struct {
	net.TCPAddr
	ip [16]byte
}

// peerAddress returns an address as package net has it.
func peerAddress(p fd.Peer, network string) net.Addr {
	if p.Addr.IsValid() {
		return pack(p.Addr, p.Zone).Unpack()
	}
	if network == "unix" || network == "unixpacket" {
		if p.Name == "" && runtime.GOOS == "linux" {
			p.Name = "@" // as package net has it
		}
		return &net.UnixAddr{Name: p.Name, Net: network}
	}
	return &net.TCPAddr{}
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
	return &net.TCPAddr{} // of a connection that is gone already
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Addr: a.Addr().As4(), Port: int(a.Port())}
	}
	return &unix.SockaddrInet6{Addr: a.Addr().As16(), Port: int(a.Port()), ZoneId: index(a.Addr().Zone())}
}

// addrPort returns an address with its zone. Finding the zone's name costs a
// system call; only link-local addresses have one.
func addrPort(p fd.Peer) netip.AddrPort {
	if p.Zone == 0 {
		return p.Addr
	}
	return netip.AddrPortFrom(p.Addr.Addr().WithZone(zone(p.Zone)), p.Addr.Port())
}

// peerOfAddr is the reverse.
func peerOfAddr(to netip.AddrPort) fd.Peer {
	if z := to.Addr().Zone(); z != "" {
		return fd.Peer{Addr: netip.AddrPortFrom(to.Addr().WithZone(""), to.Port()), Zone: index(z)}
	}
	return fd.Peer{Addr: to}
}

// askLocal asks for the local address of a TCP connection, which is known unless the listener
// has several. A closed connection has the known one.
func askLocal(f *fd.FD, known net.Addr) net.Addr {
	k, tcp := known.(*net.TCPAddr)
	if !tcp {
		return known
	}
	here := addrPort(f.LocalPeer())
	if a := k.AddrPort(); !here.IsValid() || here.Port() == a.Port() && here.Addr().Unmap() == a.Addr().Unmap() {
		return known
	}
	return net.TCPAddrFromAddrPort(here)
}
