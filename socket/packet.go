package socket

// A PacketConn is a datagram socket that suspends tasks of its loop and blocks
// any other goroutine alone.

import (
	"cmp"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/nocopy"
)

// A PacketConn is a UDP socket or a Unix datagram socket. It is a
// net.PacketConn, and a net.Conn if Dial has connected it to a peer. It has the
// further methods of a *net.UDPConn. Any goroutine may call any method at any
// time: a wait suspends a task, and blocks any other goroutine alone.
//
// A datagram is sent and received whole. An empty datagram is no end of a
// stream: there is no io.EOF. What does not fit into the buffer of a read is
// lost. An error that the peer's system has sent back, such as
// syscall.ECONNREFUSED on a connected socket, is returned once, by the next
// call, and the socket stays usable. Errors are those of package net.
type PacketConn struct {
	_       nocopy.Field
	fd      *fd.FD
	network string
	local   net.Addr
	remote  net.Addr // nil: it is not connected
	ipv6    bool     // it is a socket of IPv6
	file    *socketFile
}

var (
	_ net.PacketConn = (*PacketConn)(nil)
	_ net.Conn       = (*PacketConn)(nil)
	_ syscall.Conn   = (*PacketConn)(nil)
)

// stdPacket is what *net.UDPConn and *net.UnixConn have in common.
type stdPacket interface {
	net.Conn
	net.PacketConn
	syscall.Conn
	File() (*os.File, error)
	SetReadBuffer(bytes int) error
	SetWriteBuffer(bytes int) error
}

// adoptPacket returns a PacketConn of a socket of package net.
func adoptPacket(f *fd.FD, network string, c stdPacket) *PacketConn {
	p := &PacketConn{fd: f, network: network, local: c.LocalAddr()}
	if a, udp := p.local.(*net.UDPAddr); udp {
		p.ipv6 = a.IP.To4() == nil
	}
	fd.Guard(f, p)
	return p
}

// Read receives a datagram: from the peer if the socket is connected, else from
// anyone. It suspends the task.
func (c *PacketConn) Read(p []byte) (int, error) {
	n, _, err := c.receive(p)
	return n, c.fail("read", nil, err)
}

// Write sends p as one datagram to the peer that the socket is connected to. It
// suspends the task.
func (c *PacketConn) Write(p []byte) (int, error) {
	n, err := c.send(p)
	return n, c.fail("write", nil, err)
}

// ReadFrom receives a datagram and returns its sender: a *net.UDPAddr or
// *net.UnixAddr, or nil for a Unix socket without a name. It suspends the task.
func (c *PacketConn) ReadFrom(p []byte) (int, net.Addr, error) {
	n, from, err := c.receive(p)
	if err != nil {
		return n, nil, c.fail("read", nil, err)
	}
	if c.network != "unixgram" {
		return n, net.UDPAddrFromAddrPort(addrPort(from)), nil
	}
	if from.Name == "" {
		return n, nil, nil
	}
	return n, &net.UnixAddr{Name: from.Name, Net: c.network}, nil
}

// WriteTo sends p as one datagram to an address of the network's type. On a
// connected socket it fails with net.ErrWriteToConnected. It suspends the task.
func (c *PacketConn) WriteTo(p []byte, to net.Addr) (int, error) {
	peer, err := c.peerOf(to)
	if err == errMissingAddress {
		to = nil // a nil pointer has no text
	}
	if err != nil {
		return 0, c.fail("write", to, err)
	}
	n, err := c.sendTo(p, peer)
	if err != nil {
		err = c.fail("write", to, err)
	}
	return n, err
}

// peerOf returns the peer that an address names. Its errors are those of package net.
func (c *PacketConn) peerOf(to net.Addr) (fd.Peer, error) {
	udp := c.network != "unixgram"
	switch a := to.(type) {
	case *net.UDPAddr:
		switch {
		case !udp:
			return fd.Peer{}, syscall.EINVAL
		case a == nil:
			return fd.Peer{}, c.missing()
		}
		return c.udpPeer(a.AddrPort())
	case *net.UnixAddr:
		switch {
		case udp:
			return fd.Peer{}, syscall.EINVAL
		case a == nil || c.remote != nil:
			return fd.Peer{}, c.missing()
		case a.Net != "" && a.Net != c.network:
			return fd.Peer{}, syscall.EAFNOSUPPORT
		}
		return fd.Peer{Name: a.Name}, nil
	}
	return fd.Peer{}, syscall.EINVAL
}

// missing returns the error of a WriteTo without an address.
func (c *PacketConn) missing() error {
	if c.remote != nil {
		return net.ErrWriteToConnected
	}
	return errMissingAddress
}

// Close ends all operations on the socket with net.ErrClosed, also those that
// wait, and closes it. A second Close fails. It never suspends.
func (c *PacketConn) Close() error {
	c.file.remove()
	return c.fail("close", nil, c.fd.Close())
}

// LocalAddr returns the address of this end.
func (c *PacketConn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the peer's address, or nil if the socket is not connected.
func (c *PacketConn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline calls SetReadDeadline and SetWriteDeadline.
func (c *PacketConn) SetDeadline(t time.Time) error {
	return c.fail("set", nil, c.fd.SetDeadline(driver.Readable|driver.Writable, t))
}

// SetReadDeadline sets the time after which each read, also one in progress, fails with an error
// that matches os.ErrDeadlineExceeded. The zero time means none. It never suspends.
func (c *PacketConn) SetReadDeadline(t time.Time) error {
	return c.fail("set", nil, c.fd.SetDeadline(driver.Readable, t))
}

// SetWriteDeadline is SetReadDeadline for writing.
func (c *PacketConn) SetWriteDeadline(t time.Time) error {
	return c.fail("set", nil, c.fd.SetDeadline(driver.Writable, t))
}

// SetReadBuffer sets the size of the system's receive buffer in bytes.
func (c *PacketConn) SetReadBuffer(bytes int) error {
	return c.fail("set", nil, setBuffer(c.fd, driver.Readable, bytes))
}

// SetWriteBuffer sets the size of the system's send buffer in bytes.
func (c *PacketConn) SetWriteBuffer(bytes int) error {
	return c.fail("set", nil, setBuffer(c.fd, driver.Writable, bytes))
}

// File returns a duplicate of the socket as a file. The caller closes it.
func (c *PacketConn) File() (*os.File, error) {
	f, err := openFile(c.fd, c.network+":"+c.local.String()+"->")
	return f, c.fail("file", nil, err)
}

// SyscallConn returns access to the descriptor. Its Read and Write suspend the
// task while the function that they are given returns false.
func (c *PacketConn) SyscallConn() (syscall.RawConn, error) {
	return rawConn{c.fd, func(op string, err error) error { return c.fail(op, nil, err) }}, nil
}

// fail returns err as package net would.
func (c *PacketConn) fail(op string, to net.Addr, err error) error {
	if err == nil {
		return nil
	}
	if namesOperation(err) {
		return err
	}
	if to == nil {
		to = c.remote
	}
	return &net.OpError{Op: op, Net: c.network, Source: c.local, Addr: to, Err: err}
}

func (c *PacketConn) receive(p []byte) (int, fd.Peer, error) {
	if c.fd.Virtual() == nil {
		return c.receiveSystem(p)
	}
	t := c.fd.Task("Read")
	if t == nil {
		return c.receiveErrand(p)
	}
	return c.fd.ReceiveVirtual(t, p)
}

func (c *PacketConn) send(p []byte) (int, error) {
	if c.fd.Virtual() == nil {
		return c.sendSystem(p)
	}
	return c.sendVirtual(p, fd.Peer{})
}

func (c *PacketConn) sendTo(p []byte, to fd.Peer) (int, error) {
	if c.fd.Virtual() == nil {
		return c.sendToSystem(p, to)
	}
	return c.sendVirtual(p, to)
}

func (c *PacketConn) sendVirtual(p []byte, to fd.Peer) (int, error) {
	t := c.fd.Task("Write")
	if t == nil {
		return c.sendErrand(p, to)
	}
	return c.fd.SendVirtual(t, p, to)
}

// receiveErrand and sendErrand are for goroutines around a simulated host. What is sent leaves a
// moment later, and a failure is not told.
func (c *PacketConn) receiveErrand(p []byte) (n int, from fd.Peer, err error) {
	done, failed := c.fd.Take(func() { n, from, err = c.fd.ReceiveVirtual(c.fd.Task("Read"), p) })
	if !done {
		return 0, fd.Peer{}, errNotOnLoop
	}
	return n, from, cmp.Or(failed, err)
}

func (c *PacketConn) sendErrand(p []byte, to fd.Peer) (int, error) {
	done, err := c.fd.Give(p, to)
	switch {
	case !done:
		return 0, errNotOnLoop
	case err != nil:
		return 0, err
	}
	return len(p), nil
}
