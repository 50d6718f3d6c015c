//go:build rondo_portable || !(linux || darwin || freebsd || dragonfly)

package socket

import (
	"net"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

func newPacket(loop kernel.Loop, network string, std stdPacket) (*PacketConn, error) {
	return adoptPacket(fd.Adopt(loop, std), network, std), nil
}

func (c *PacketConn) receiveSystem(p []byte) (n int, from fd.Peer, err error) {
	t := c.fd.Task("Read")
	if t == nil {
		return c.receiveForeign(p)
	}
	err = c.onStd(t, driver.Readable, "read", func(std fd.Std) (err error) {
		n, from, err = receiveStd(std, p)
		return err
	})
	return n, from, err
}

func (c *PacketConn) sendSystem(p []byte) (n int, err error) {
	t := c.fd.Task("Write")
	if t == nil {
		return c.sendForeign(p)
	}
	err = c.onStd(t, driver.Writable, "write", func(std fd.Std) (err error) {
		n, err = std.Write(p)
		return err
	})
	return n, err
}

func (c *PacketConn) sendToSystem(p []byte, to fd.Peer) (n int, err error) {
	t := c.fd.Task("WriteTo")
	if t == nil {
		return c.sendToForeign(p, to)
	}
	err = c.onStd(t, driver.Writable, "write", func(std fd.Std) (err error) {
		n, err = sendToStd(std, p, to)
		return err
	})
	return n, err
}

func (c *PacketConn) receiveMessage(p, oob []byte) (m message, err error) {
	op := func(std fd.Std) (err error) {
		m.n, m.oobn, m.flags, m.peer.Addr, err = std.(*net.UDPConn).ReadMsgUDPAddrPort(p, oob)
		return err
	}
	if t := c.fd.Task("ReadMsgUDP"); t == nil {
		err = c.fd.Foreign(driver.Readable, op)
	} else {
		err = c.onStd(t, driver.Readable, "read", op)
	}
	return m, err
}

func (c *PacketConn) sendMessage(p, oob []byte, to fd.Peer) (m message, err error) {
	op := func(std fd.Std) (err error) {
		m.n, m.oobn, err = std.(*net.UDPConn).WriteMsgUDPAddrPort(p, oob, addrPort(to))
		return err
	}
	if t := c.fd.Task("WriteMsgUDP"); t == nil {
		err = c.fd.Foreign(driver.Writable, op)
	} else {
		err = c.onStd(t, driver.Writable, "write", op)
	}
	return m, err
}

// onStd runs op on package net's socket, for a task.
func (c *PacketConn) onStd(t kernel.Task, which driver.Events, what string, op func(std fd.Std) error) error {
	std, err := c.fd.Std()
	if err != nil {
		return err
	}
	return c.fd.Do(t, which, what, func() error { return op(std) })
}
