package socket

// This file has PacketConn, a socket of datagrams with two faces, as Conn is one
// of streams.

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// A PacketConn is a UDP socket or a Unix socket of datagrams. It is a
// net.PacketConn and, for one that Dial has connected to a peer, a net.Conn; it
// has what a *net.UDPConn has besides. Any goroutine may use all of it at any
// time: its waits suspend a task, and block another goroutine alone.
//
// A datagram is sent and received as one, also one of no bytes, which is no end
// of anything: there is no io.EOF. What does not fit into the buffer of a read is
// lost. An error that a peer has sent back, such as syscall.ECONNREFUSED on a
// socket that is connected, is returned once by the call that comes next, and
// the socket stays usable. Errors are those of package net.
type PacketConn struct {
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

// ListenPacket listens for datagrams with a ListenConfig that has nothing set.
func ListenPacket(ctx context.Context, network, address string) (net.PacketConn, error) {
	return new(ListenConfig).ListenPacket(ctx, network, address)
}

// ListenPacket announces on an address of the network "udp", "udp4", "udp6" or
// "unixgram", and gives a *PacketConn. It waits only if the address has a name
// that must be looked up, and only then does it suspend the task. Any goroutine
// may call it, with a ctx of the loop whose tasks will use the socket. Errors are
// those of net.ListenPacket; a ctx that belongs to no loop is rondo.ErrNoLoop,
// and a loop without sockets errors.ErrUnsupported. What is said of the file of a
// Unix socket at Listen holds here too.
func (lc *ListenConfig) ListenPacket(ctx context.Context, network, address string) (net.PacketConn, error) {
	loop, err := loopOf(ctx, "ListenPacket")
	if err != nil {
		return nil, err
	}
	fail := func(err error) (net.PacketConn, error) {
		var named *net.OpError
		if !errors.As(err, &named) {
			err = &net.OpError{Op: "listen", Net: network, Err: err}
		}
		return nil, err
	}
	if err := fd.Supported(loop); err != nil {
		return fail(err)
	}
	if ctx.Err() != nil {
		return fail(context.Cause(ctx))
	}
	config, err := lc.std()
	if err != nil {
		return fail(err)
	}
	if !datagrams(network) {
		return fail(net.UnknownNetworkError(network))
	}
	open := func(ctx context.Context) (net.PacketConn, error) { return config.ListenPacket(ctx, network, address) }
	var std net.PacketConn
	var file *socketFile
	if network == "unixgram" {
		std, file, err = bind(ctx, address, open)
	} else {
		std, err = lookUp(ctx, loop, address, open)
	}
	if err != nil {
		return fail(err)
	}
	c, err := newPacket(loop, network, std.(stdPacket))
	if err != nil {
		file.remove()
		return fail(err)
	}
	c.file = file
	return c, nil
}

// datagrams tells the networks of PacketConn.
func datagrams(network string) bool {
	switch network {
	case "udp", "udp4", "udp6", "unixgram":
		return true
	}
	return false
}

// lookUp opens a socket, off the loop if a name has to be looked up for it.
func lookUp[T interface{ Close() error }](ctx context.Context, loop kernel.Loop, address string, open func(ctx context.Context) (T, error)) (T, error) {
	if !loop.Inside() || literal(address) {
		return open(ctx)
	}
	// What was opened when the task has gone is closed by whoever comes second.
	var opened T
	var second atomic.Bool
	c, err := rondo.Offload(ctx, func(ctx context.Context) (T, error) {
		c, err := open(ctx)
		if err != nil {
			return c, err
		}
		opened = c
		if second.Swap(true) {
			c.Close()
		}
		return c, nil
	})
	if err != nil && second.Swap(true) {
		opened.Close()
	}
	return c, err
}

// dialPacket connects a socket of datagrams: it gets a peer, and nothing is sent.
func (d *Dialer) dialPacket(ctx context.Context, loop kernel.Loop, network, address string) (*PacketConn, error) {
	if err := fd.Supported(loop); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	open := func(ctx context.Context) (net.Conn, error) { return d.std().DialContext(ctx, network, address) }
	var c net.Conn
	var err error
	if network == "unixgram" {
		c, err = open(ctx)
	} else {
		c, err = lookUp(ctx, loop, address, open)
	}
	if err != nil {
		return nil, err
	}
	p, err := newPacket(loop, network, c.(stdPacket))
	if err != nil {
		return nil, err
	}
	p.remote = c.RemoteAddr()
	return p, nil
}

// adoptPacket makes a PacketConn of one of package net's.
func adoptPacket(f *fd.FD, network string, c stdPacket) *PacketConn {
	p := &PacketConn{fd: f, network: network, local: c.LocalAddr()}
	if a, udp := p.local.(*net.UDPAddr); udp {
		p.ipv6 = a.IP.To4() == nil
	}
	return p
}

// Read receives a datagram from the peer that the socket is connected to; of one
// that is not, from anybody. It suspends the task.
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

// ReadFrom receives a datagram and tells where it came from: a *net.UDPAddr or
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
// socket that is connected it fails with net.ErrWriteToConnected. It suspends the
// task.
func (c *PacketConn) WriteTo(p []byte, to net.Addr) (int, error) {
	peer, err := c.peerOf(to)
	if err != nil {
		return 0, c.fail("write", to, err)
	}
	n, err := c.sendTo(p, peer)
	if err != nil {
		err = c.fail("write", to, err)
	}
	return n, err
}

// ReadFromUDPAddrPort is ReadFrom for UDP, and allocates nothing in a task. The
// address of an IPv4 peer of an IPv6 socket is one of IPv6, as with package net:
// see netip.Addr.Unmap. It suspends the task.
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

var errMissingAddress = errors.New("missing address")

// ReadMsgUDP is ReadFrom for UDP, with what comes beside the data: it puts that
// into oob, and gives the flags of the message (recvmsg(2)). It suspends the task.
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

// WriteMsgUDP is WriteTo for UDP, with control messages. to is nil on a socket
// that is connected. It suspends the task.
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

// A message is what recvmsg and sendmsg tell.
type message struct {
	n, oobn, flags int
	peer           fd.Peer
}

// peerOf reads the address that a datagram is to go to.
func (c *PacketConn) peerOf(to net.Addr) (fd.Peer, error) {
	if to == nil {
		return fd.Peer{}, errMissingAddress
	}
	switch a := to.(type) {
	case *net.UDPAddr:
		if c.network != "unixgram" && a != nil {
			return c.udpPeer(a.AddrPort())
		}
	case *net.UnixAddr:
		if c.network == "unixgram" && a != nil && (a.Net == "" || a.Net == c.network) {
			if c.remote != nil {
				return fd.Peer{}, net.ErrWriteToConnected
			}
			return fd.Peer{Name: a.Name}, nil
		}
	}
	return fd.Peer{}, syscall.EINVAL
}

// udpPeer checks that the socket can send to an address.
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

// Close ends all operations on the socket with net.ErrClosed, wherever they
// wait, and closes it. A second Close fails. It never suspends.
func (c *PacketConn) Close() error {
	c.file.remove()
	return c.fail("close", nil, c.fd.Close())
}

// LocalAddr gives the address of this end.
func (c *PacketConn) LocalAddr() net.Addr { return c.local }

// RemoteAddr gives the peer's address, or nil if the socket is not connected.
func (c *PacketConn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline is SetReadDeadline and SetWriteDeadline.
func (c *PacketConn) SetDeadline(t time.Time) error {
	return c.fail("set", nil, c.fd.SetDeadline(driver.Readable|driver.Writable, t))
}

// SetReadDeadline sets the time after which each read fails with an error that
// is os.ErrDeadlineExceeded, one that waits at the moment included. The zero time
// means none. It never suspends.
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

// File gives a duplicate of the socket as a file, which the caller closes.
func (c *PacketConn) File() (*os.File, error) {
	f, err := openFile(c.fd, c.network+":"+c.local.String()+"->")
	return f, c.fail("file", nil, err)
}

// SyscallConn gives access to the descriptor. Its Read and Write suspend the
// task when the function that they are given is not done.
func (c *PacketConn) SyscallConn() (syscall.RawConn, error) {
	return rawConn{c.fd, func(op string, err error) error { return c.fail(op, nil, err) }}, nil
}

// fail makes an error one of package net's.
func (c *PacketConn) fail(op string, to net.Addr, err error) error {
	if err == nil {
		return nil
	}
	var named *net.OpError
	if errors.As(err, &named) {
		return err
	}
	if to == nil {
		to = c.remote
	}
	return &net.OpError{Op: op, Net: c.network, Source: c.local, Addr: to, Err: err}
}
