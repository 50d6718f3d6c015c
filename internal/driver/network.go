package driver

// This file is the seam to the network, at the level of system calls. The real
// driver watches descriptors, and the system has the sockets: it is a Poller. A
// driver that has sockets of its own is a Network. What waits, and the rules of
// deadlines, cancellation and Close, are above the seam and the same for both
// (package internal/fd).

import (
	"net/netip"
	"os"
	"syscall"
)

// A Network is a Driver whose loop has a network of its own. Its methods never
// suspend and may be called only on the loop.
type Network interface {
	// Socket returns a new socket of a network as package net names it: "tcp",
	// "udp", "unix", "unixpacket" or "unixgram".
	Socket(network string) (Socket, error)

	// Resolve returns the addresses of a host's name. Its errors are those of
	// net.Resolver.
	Resolve(host string) ([]netip.Addr, error)
}

// A Socket is a socket that never blocks: an operation that would have to wait
// fails with syscall.EAGAIN. All methods are called on the loop.
type Socket interface {
	// Bind gives the socket an address: bind(2). Port 0 means any. reuse lets
	// several sockets have it that all say so.
	Bind(local Peer, reuse bool) error

	// Listen makes it accept connections. backlog 0 means the system's limit.
	Listen(backlog int) error

	// Accept returns the next connection and its peer.
	Accept() (Socket, Peer, syscall.Errno)

	// Connect connects it. It returns EAGAIN while that is under way, and is then
	// called again after a report.
	Connect(to Peer) syscall.Errno

	// Receive reads available data, or one datagram. 0 bytes of a stream are its
	// end.
	Receive(p []byte) (n int, from Peer, errno syscall.Errno)

	// Send takes a part of p, or one datagram. The zero Peer is the one that the
	// socket is connected to.
	Send(p []byte, to Peer) (n int, errno syscall.Errno)

	// Shutdown ends one direction: shutdown(2).
	Shutdown(which Events) error

	// SetOption sets an option; one that means nothing here is ignored.
	SetOption(o Option, value int)

	// Addrs returns the addresses of both ends.
	Addrs() (local, remote Peer)

	// Arm and Disarm are those of a Poller. Arm never fails.
	Arm(want Events, s Sink)
	Disarm(which Events)

	// Ready reports whether an operation in the direction would not wait.
	Ready(want Events) bool

	// Short reports whether a Receive that returns less than was asked for has
	// emptied the socket, unless HangUp or Urgent was reported.
	Short() bool

	// Close closes it.
	Close()
}

// An Option is an option of a Socket.
type Option uint8

// The options of a Socket. Linger is in seconds, negative for none; the buffers are
// in bytes.
const (
	Linger Option = iota
	ReadBuffer
	WriteBuffer
)

// A Peer is the address of an end of a socket: of UDP or TCP, or the name of a
// Unix socket, empty if it has none. An abstract name begins with @.
type Peer struct {
	Addr netip.AddrPort
	Zone uint32 // the interface of a link-local address that Addr does not name
	Name string
}

// Signals is a Driver whose loop gets signals from the driver and not from the
// system.
type Signals interface {
	// Notify makes came be called on the loop, inside Poll, for each of the
	// signals that comes. It must not wait. stop ends it, and may be called again.
	// A signal for which there is no Notify has its default effect.
	Notify(came func(s os.Signal), sigs ...os.Signal) (stop func())
}

// NetworkOf returns the Network of a driver, or nil if its sockets are the system's.
func NetworkOf(d Driver) Network {
	if !d.Virtual() {
		return nil
	}
	n, _ := d.(Network)
	return n
}
