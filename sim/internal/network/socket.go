package network

import (
	"net"
	"net/netip"
	"syscall"

	"github.com/rondo-go/rondo/internal/driver"
)

// A loop makes sockets, and a stack resolves names, as driver.Host wants it.

// Socket is that of driver.Host.
func (l *Loop) Socket(network string) (driver.Socket, error) {
	p := l.stack
	if p.Over {
		return nil, syscall.ENETDOWN
	}
	if p.full() {
		return nil, syscall.EMFILE
	}
	var s socket
	switch network {
	case "tcp", "unix", "unixpacket":
		s = newStream(l, network)
	case "udp", "unixgram":
		s = &packetSocket{endpoint: endpoint{stack: p, loop: l, network: network}}
	default:
		return nil, net.UnknownNetworkError(network)
	}
	p.register(s)
	return s, nil
}

// Resolve returns the address of a host of the cluster.
func (p *Stack) Resolve(host string) ([]netip.Addr, error) {
	if host == "localhost" {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}, nil
	}
	h := p.net.Named(host)
	switch {
	case h != nil && h != p.node && p.node.Names == NoNames:
		return nil, &net.DNSError{Err: "no answer of the resolver", Name: host, IsTemporary: true}
	case h != nil && h != p.node && p.node.Names == WrongNames:
		return []netip.Addr{h.next().Addr}, nil
	case h != nil:
		return []netip.Addr{h.Addr}, nil
	}
	return nil, &net.DNSError{Err: "no such host in the cluster", Name: host, IsNotFound: true}
}

// next returns the host that was added after h, or the first.
func (h *Node) next() *Node {
	for number := h.Number + 1; ; number = 1 {
		a := netip.AddrFrom4([4]byte{10, byte(number >> 16), byte(number >> 8), byte(number)})
		if o := h.net.byAddr[a]; o != nil {
			return o
		}
	}
}
