package socket

// The methods of a PacketConn that only UDP has.

import (
	"net"
	"net/netip"
	"syscall"

	"github.com/rondo-go/rondo/internal/fd"
)

// ReadFromUDPAddrPort is ReadFrom for UDP, and allocates nothing in a task. The
// address of an IPv4 peer of an IPv6 socket is an IPv6 address, as in package
// net; see netip.Addr.Unmap. It suspends the task.
func (c *PacketConn) ReadFromUDPAddrPort(p []byte) (int, netip.AddrPort, error) {
	n, from, err := c.receive(p)
	if err != nil {
		return n, netip.AddrPort{}, c.fail("read", nil, err)
	}
	return n, addrPort(from), nil
}

// WriteToUDPAddrPort is WriteTo for UDP, and allocates nothing in a task. It
// suspends the task.
func (c *PacketConn) WriteToUDPAddrPort(p []byte, to netip.AddrPort) (int, error) {
	peer, err := c.udpPeer(to)
	n := 0
	if err == nil {
		n, err = c.sendTo(p, peer)
	}
	if err != nil {
		err = c.fail("write", net.UDPAddrFromAddrPort(to), err)
	}
	return n, err
}

// ReadFromUDP is ReadFrom for UDP. It suspends the task.
func (c *PacketConn) ReadFromUDP(p []byte) (int, *net.UDPAddr, error) {
	n, from, err := c.ReadFromUDPAddrPort(p)
	if err != nil {
		return n, nil, err
	}
	return n, net.UDPAddrFromAddrPort(from), nil
}

// WriteToUDP is WriteTo for UDP. It suspends the task.
func (c *PacketConn) WriteToUDP(p []byte, to *net.UDPAddr) (int, error) {
	if to == nil {
		return 0, c.fail("write", nil, errMissingAddress)
	}
	return c.WriteTo(p, to)
}

// ReadMsgUDP is ReadFrom for UDP, with control messages: it puts them into oob,
// and returns the flags of the message (recvmsg(2)). It suspends the task.
func (c *PacketConn) ReadMsgUDP(p, oob []byte) (n, oobn, flags int, from *net.UDPAddr, err error) {
	var m message
	if c.network == "unixgram" {
		err = syscall.EINVAL
	} else {
		m, err = c.receiveMessage(p, oob)
	}
	if err != nil {
		return 0, 0, 0, nil, c.fail("read", nil, err)
	}
	return m.n, m.oobn, m.flags, net.UDPAddrFromAddrPort(addrPort(m.peer)), nil
}

// WriteMsgUDP is WriteTo for UDP, with control messages. to is nil on a
// connected socket. It suspends the task.
func (c *PacketConn) WriteMsgUDP(p, oob []byte, to *net.UDPAddr) (n, oobn int, err error) {
	var m message
	switch {
	case c.network == "unixgram":
		err = syscall.EINVAL
	case to != nil:
		m.peer, err = c.udpPeer(to.AddrPort())
	case c.remote == nil:
		err = errMissingAddress
	}
	if err == nil {
		m, err = c.sendMessage(p, oob, m.peer)
	}
	if err != nil {
		if to == nil {
			return 0, 0, c.fail("write", nil, err)
		}
		return 0, 0, c.fail("write", to, err)
	}
	return m.n, m.oobn, nil
}

// A message has the results of recvmsg and sendmsg.
type message struct {
	n, oobn, flags int
	peer           fd.Peer
}

// udpPeer returns the peer at an address, and checks that the socket can send
// to it.
func (c *PacketConn) udpPeer(to netip.AddrPort) (fd.Peer, error) {
	a := to.Addr()
	switch {
	case c.network == "unixgram":
		return fd.Peer{}, syscall.EAFNOSUPPORT
	case c.remote != nil:
		return fd.Peer{}, net.ErrWriteToConnected
	case !a.IsValid() && c.ipv6:
		a = netip.IPv6Unspecified()
	case !a.IsValid():
		a = netip.IPv4Unspecified()
	case !c.ipv6 && !a.Is4() && !a.Is4In6():
		return fd.Peer{}, &net.AddrError{Err: "non-IPv4 address", Addr: a.String()}
	}
	return peerOfAddr(netip.AddrPortFrom(a, to.Port())), nil
}
