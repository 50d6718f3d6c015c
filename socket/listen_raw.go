//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package socket

import (
	"net"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// inherits says that a connection has the options of its listener, so they need
// not be set on each.
const inherits = runtime.GOOS == "linux"

// prepare sets the options of the connections on the listener. Those that are queued by then have
// the options that it had before.
func (l *Listener) prepare() {
	if _, tcp := l.std.(*net.TCPListener); tcp && inherits {
		_ = l.fd.Control(func(sys uintptr) {
			tune(int(sys), l.keepAlive)
			l.early.Store(queueLength(int(sys)))
		})
	}
}

// tunes reports whether the next connection needs its options set.
func (l *Listener) tunes() bool {
	if _, tcp := l.std.(*net.TCPListener); !tcp {
		return false
	}
	return !inherits || l.early.Load() > 0 && l.early.Add(-1) >= 0
}

// An accepted is a connection that no loop has yet.
type accepted struct {
	sys     int
	peer    fd.Peer
	virtual driver.Socket // in place of sys
}

// close closes a connection that no loop gets.
func (a accepted) close() {
	if a.virtual != nil {
		a.virtual.Close()
		return
	}
	unix.Close(a.sys)
}

// acceptAny waits for a connection.
func (l *Listener) acceptAny(t kernel.Task) (a accepted, err error) {
	if l.virtual {
		a.virtual, a.peer, err = l.fd.AcceptVirtual(t)
		return a, err
	}
	a.sys, a.peer, err = l.fd.Accept(t, &l.shared)
	return a, err
}

func (l *Listener) acceptTask(t kernel.Task, use use) (*Conn, error) {
	a, err := l.acceptAny(t)
	if err != nil {
		return nil, err
	}
	return l.open(l.fd.Loop(), a, use), nil
}

// open returns the Conn of an accepted connection, for the tasks of a loop. It is
// called on that loop.
func (l *Listener) open(loop kernel.Loop, a accepted, use use) *Conn {
	network := l.Addr().Network()
	if a.virtual != nil {
		return virtualConn(loop, a.virtual, network)
	}
	sys, peer := a.sys, a.peer
	if l.tunes() {
		tune(sys, l.keepAlive)
	}
	c := &Conn{fd: fd.New(loop, sys, makeStd), local: l.bound, of: networkOf(network)}
	if use.watched && peer.Addr.IsValid() {
		c.remote = pack(peer.Addr, peer.Zone)
	} else {
		c.remote = peerAddress(peer, network)
	}
	if c.local == nil {
		// It fails only if the connection is gone already; its first use reports
		// that.
		c.local = peerAddress(fd.LocalPeer(sys), network)
	}
	c.fd.Sole(!l.shared.Load())
	if !use.watched {
		c.fd.Prepare()
	}
	c.name(use.owned)
	return c
}

// bound returns the address that all connections of a listener have at this
// end, or nil if they differ. With a wildcard address they do. On Linux they do
// also if a firewall or a BPF program redirects connections to the listener; so
// LocalAddr asks.
func bound(std stdListener) net.Addr {
	a, tcp := std.Addr().(*net.TCPAddr)
	if tcp && a.IP.IsUnspecified() {
		return nil
	}
	return std.Addr()
}
