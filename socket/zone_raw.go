//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package socket

import (
	"net"
	"net/netip"
	"strconv"
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
