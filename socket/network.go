package socket

// Some loops have a driver with a network of its own, as the hosts of a simulated
// cluster do. Conn, Listener and PacketConn are the same on them; only the way to
// open a socket and its options differ.

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// errNoHook says that a socket of the driver cannot be shown to a hook.
var errNoHook = errors.New("a simulated socket has no descriptor for a Control hook or a Resolver of the program; leave these fields nil in a simulation")

// virtualAddress returns the address that a socket is bound to or connected to.
func virtualAddress(n driver.Host, network, address string) (driver.Peer, error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return driver.Peer{}, err
	}
	port, err := portOf(network, service)
	if err != nil {
		return driver.Peer{}, err
	}
	if host == "" {
		return driver.Peer{Addr: netip.AddrPortFrom(netip.IPv4Unspecified(), port)}, nil
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return driver.Peer{Addr: netip.AddrPortFrom(a.Unmap(), port)}, nil
	}
	found, err := n.Resolve(host)
	if err != nil {
		return driver.Peer{}, err
	}
	return driver.Peer{Addr: netip.AddrPortFrom(found[0], port)}, nil
}

// virtualNet returns an address as package net has it.
func virtualNet(p driver.Peer, network string) net.Addr {
	switch network {
	case "unix", "unixpacket", "unixgram":
		return &net.UnixAddr{Name: p.Name, Net: network}
	case "udp", "udp4", "udp6":
		return net.UDPAddrFromAddrPort(p.Addr)
	}
	return net.TCPAddrFromAddrPort(p.Addr)
}

// kindOf returns the network that a driver knows.
func kindOf(network string) string {
	switch network {
	case "tcp4", "tcp6":
		return "tcp"
	case "udp4", "udp6":
		return "udp"
	}
	return network
}

// bindVirtual opens a socket and binds it.
func (lc *ListenConfig) bindVirtual(loop kernel.Loop, network, address string) (driver.Socket, error) {
	n, err := onLoop(loop)
	switch {
	case err != nil:
		return nil, err
	case lc.Control != nil:
		return nil, errNoHook
	}
	at := driver.Peer{Name: address}
	if !isUnix(network) {
		if at, err = virtualAddress(n, network, address); err != nil {
			return nil, err
		}
	}
	v, err := n.Socket(kindOf(network))
	if err != nil {
		return nil, err
	}
	if err := v.Bind(at, lc.ReusePort); err != nil {
		v.Close()
		return nil, &net.OpError{Op: "listen", Net: network, Addr: virtualNet(at, network), Err: os.NewSyscallError("bind", err)}
	}
	return v, nil
}

// listenVirtual is Listen on the network of the driver.
func (lc *ListenConfig) listenVirtual(ctx context.Context, loop kernel.Loop, network, address string) (*Listener, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if !streams(network) {
		return nil, net.UnknownNetworkError(network)
	}
	v, err := lc.bindVirtual(loop, network, address)
	if err != nil {
		return nil, err
	}
	if err := v.Listen(lc.Backlog); err != nil {
		v.Close()
		return nil, os.NewSyscallError("listen", err)
	}
	at, _ := v.Addrs()
	return &Listener{fd: fd.NewVirtual(loop, v), std: virtualListener{virtualNet(at, network)}, virtual: true}, nil
}

// A virtualListener stands for package net's listener where there is none.
type virtualListener struct{ addr net.Addr }

func (l virtualListener) Addr() net.Addr                      { return l.addr }
func (virtualListener) Accept() (net.Conn, error)             { return nil, errNotOnLoop }
func (virtualListener) Close() error                          { return nil }
func (virtualListener) SetDeadline(time.Time) error           { return nil }
func (virtualListener) File() (*os.File, error)               { return nil, errNoDescriptor }
func (virtualListener) SyscallConn() (syscall.RawConn, error) { return nil, errNoDescriptor }

var errNoDescriptor error = noDescriptor{}

type noDescriptor struct{}

func (noDescriptor) Error() string        { return "a simulated socket has no descriptor" }
func (noDescriptor) Is(target error) bool { return target == errors.ErrUnsupported }

// virtualConn returns a Conn of a connected socket of the driver, which may have been accepted by
// another loop of its host.
func virtualConn(loop kernel.Loop, v driver.Socket, network string) *Conn {
	simulated(loop).Adopt(v)
	local, remote := v.Addrs()
	c := &Conn{
		fd: fd.NewVirtual(loop, v), of: networkOf(network),
		local: virtualNet(local, network), remote: virtualNet(remote, network),
	}
	c.name(true)
	return c
}

// checkHooks fails if the Dialer has what a simulation cannot honour.
func (d *Dialer) checkHooks() error {
	if d.Control != nil || d.ControlContext != nil || d.Resolver != nil {
		return errNoHook
	}
	return nil
}

// dialVirtual dials for a task on the network of the driver.
func (d *Dialer) dialVirtual(ctx context.Context, loop kernel.Loop, network, address string) (*Conn, error) {
	if err := d.checkHooks(); err != nil {
		return nil, err
	}
	if isUnix(network) {
		return d.connectVirtual(ctx, loop, network, driver.Peer{}, driver.Peer{Name: address})
	}
	return d.dialEach(ctx, network, address, func(ctx context.Context, local, to netip.AddrPort) (*Conn, error) {
		return d.connectVirtual(ctx, loop, network, driver.Peer{Addr: local}, driver.Peer{Addr: to})
	})
}

// connectVirtual tries one address.
func (d *Dialer) connectVirtual(_ context.Context, loop kernel.Loop, network string, local, to driver.Peer) (*Conn, error) {
	fail := func(err error) error {
		e := &net.OpError{Op: "dial", Net: network, Addr: virtualNet(to, network), Err: err}
		if local.Addr.IsValid() {
			e.Source = virtualNet(local, network)
		}
		return e
	}
	v, err := simulated(loop).Socket(kindOf(network))
	if err != nil {
		return nil, fail(os.NewSyscallError("socket", err))
	}
	if local.Addr.IsValid() {
		if err := v.Bind(local, false); err != nil {
			v.Close()
			return nil, fail(os.NewSyscallError("bind", err))
		}
	}
	f := fd.NewVirtual(loop, v)
	connected := false
	defer func() {
		if !connected {
			f.Close() // also if a callback's Goexit unwinds the task
		}
	}()
	if err := f.ConnectVirtual(loop.Task(), to); err != nil {
		return nil, fail(err)
	}
	connected = true
	here, peer := v.Addrs()
	c := &Conn{fd: f, of: networkOf(network), local: virtualNet(here, network), remote: virtualNet(peer, network)}
	c.name(true)
	return c, nil
}

// listenPacketVirtual is ListenPacket on the network of the driver.
func (lc *ListenConfig) listenPacketVirtual(loop kernel.Loop, network, address string) (*PacketConn, error) {
	if !datagrams(network) {
		return nil, net.UnknownNetworkError(network)
	}
	v, err := lc.bindVirtual(loop, network, address)
	if err != nil {
		return nil, err
	}
	return virtualPacket(loop, v, network), nil
}

// dialPacketVirtual gives a datagram socket a peer.
func (d *Dialer) dialPacketVirtual(loop kernel.Loop, network, address string) (*PacketConn, error) {
	n, err := onLoop(loop)
	if err == nil {
		err = d.checkHooks()
	}
	if err != nil {
		return nil, err
	}
	to, local := driver.Peer{Name: address}, driver.Peer{}
	if !isUnix(network) {
		if to, err = virtualAddress(n, network, address); err != nil {
			return nil, err
		}
	}
	switch a := d.LocalAddr.(type) {
	case *net.UDPAddr:
		local.Addr = a.AddrPort()
	case *net.UnixAddr:
		local.Name = a.Name
	}
	v, err := n.Socket(kindOf(network))
	if err != nil {
		return nil, err
	}
	if local != (driver.Peer{}) {
		if err := v.Bind(local, false); err != nil {
			v.Close()
			return nil, os.NewSyscallError("bind", err)
		}
	}
	if errno := v.Connect(to); errno != 0 {
		v.Close()
		return nil, os.NewSyscallError("connect", errno)
	}
	p := virtualPacket(loop, v, network)
	_, peer := v.Addrs()
	p.remote = virtualNet(peer, network)
	return p, nil
}

func virtualPacket(loop kernel.Loop, v driver.Socket, network string) *PacketConn {
	at, _ := v.Addrs()
	f := fd.NewVirtual(loop, v)
	f.Datagrams(false)
	return &PacketConn{fd: f, network: network, local: virtualNet(at, network)}
}
