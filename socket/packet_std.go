package socket

// The part of PacketConn that uses package net: for goroutines that are no
// tasks of the loop, and where the loop has no descriptors.

import (
	"net"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
)

func (c *PacketConn) receiveForeign(p []byte) (n int, from fd.Peer, err error) {
	err = c.fd.Foreign(driver.Readable, func(std fd.Std) (err error) {
		n, from, err = receiveStd(std, p)
		return err
	})
	return n, from, err
}

func (c *PacketConn) sendForeign(p []byte) (n int, err error) {
	err = c.fd.Foreign(driver.Writable, func(std fd.Std) (err error) {
		n, err = std.Write(p)
		return err
	})
	return n, err
}

func (c *PacketConn) sendToForeign(p []byte, to fd.Peer) (n int, err error) {
	err = c.fd.Foreign(driver.Writable, func(std fd.Std) (err error) {
		n, err = sendToStd(std, p, to)
		return err
	})
	return n, err
}

func receiveStd(std fd.Std, p []byte) (int, fd.Peer, error) {
	if c, ok := std.(*net.UDPConn); ok {
		n, from, err := c.ReadFromUDPAddrPort(p)
		return n, fd.Peer{Addr: from}, err
	}
	n, from, err := std.(*net.UnixConn).ReadFromUnix(p)
	if from == nil {
		return n, fd.Peer{}, err
	}
	return n, fd.Peer{Name: from.Name}, err
}

func sendToStd(std fd.Std, p []byte, to fd.Peer) (int, error) {
	if c, ok := std.(*net.UDPConn); ok {
		return c.WriteToUDPAddrPort(p, addrPort(to))
	}
	return std.(*net.UnixConn).WriteToUnix(p, &net.UnixAddr{Name: to.Name, Net: "unixgram"})
}
