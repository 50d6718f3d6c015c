//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package socket

import (
	"net/netip"
	"os"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// newPacket returns a PacketConn of a socket of package net. In a task it takes
// the descriptor over, and opens package net's socket again when one is needed:
// as long as the runtime's poller has it, each datagram wakes that too.
func newPacket(loop kernel.Loop, network string, std stdPacket) (*PacketConn, error) {
	var c *PacketConn
	if loop.Inside() {
		defer std.Close()
		sys, err := fd.Dup(std)
		if err != nil {
			return nil, err
		}
		c = adoptPacket(fd.New(loop, sys, makeStd), network, std)
	} else {
		c = adoptPacket(fd.Adopt(loop, std), network, std)
	}
	c.fd.Datagrams(network == "unixgram" && std.RemoteAddr() == nil)
	return c, nil
}

func (c *PacketConn) receiveSystem(p []byte) (int, fd.Peer, error) {
	if t := c.fd.Task("Read"); t != nil {
		return c.fd.Receive(t, p)
	}
	return c.receiveForeign(p)
}

func (c *PacketConn) sendSystem(p []byte) (int, error) {
	if t := c.fd.Task("Write"); t != nil {
		return c.fd.Send(t, p)
	}
	return c.sendForeign(p)
}

func (c *PacketConn) sendToSystem(p []byte, to fd.Peer) (int, error) {
	if t := c.fd.Task("WriteTo"); t != nil {
		return c.fd.SendTo(t, p, to, c.ipv6)
	}
	return c.sendToForeign(p, to)
}

func (c *PacketConn) receiveMessage(p, oob []byte) (m message, err error) {
	var from unix.Sockaddr
	err = c.message("ReadMsgUDP", driver.Readable, "recvmsg", func(sys int) (err error) {
		m.n, m.oobn, m.flags, from, err = unix.Recvmsg(sys, p, oob, 0)
		return err
	})
	switch from := from.(type) {
	case *unix.SockaddrInet4:
		m.peer.Addr = netip.AddrPortFrom(netip.AddrFrom4(from.Addr), uint16(from.Port))
	case *unix.SockaddrInet6:
		m.peer.Addr = netip.AddrPortFrom(netip.AddrFrom16(from.Addr), uint16(from.Port))
		m.peer.Zone = from.ZoneId
	}
	return m, err
}

func (c *PacketConn) sendMessage(p, oob []byte, to fd.Peer) (m message, err error) {
	var sa unix.Sockaddr
	switch a := to.Addr.Addr(); {
	case !a.IsValid():
	case c.ipv6:
		sa = &unix.SockaddrInet6{Addr: a.As16(), Port: int(to.Addr.Port()), ZoneId: to.Zone}
	default:
		sa = &unix.SockaddrInet4{Addr: a.Unmap().As4(), Port: int(to.Addr.Port())}
	}
	m.oobn = len(oob)
	err = c.message("WriteMsgUDP", driver.Writable, "sendmsg", func(sys int) (err error) {
		m.n, err = unix.SendmsgN(sys, p, oob, sa, 0)
		return err
	})
	return m, err
}

// message calls op until it returns something else than EAGAIN. It uses system
// calls for tasks and for goroutines: a socket that package net has made of a
// descriptor does not know that it is connected.
func (c *PacketConn) message(method string, which driver.Events, call string, op func(sys int) error) error {
	var err error
	if e := wait(c.fd, method, which, func(sys uintptr) bool {
		err = unix.EINTR
		for err == unix.EINTR {
			err = op(int(sys))
		}
		return err != unix.EAGAIN
	}); e != nil {
		return e
	}
	return os.NewSyscallError(call, err)
}
