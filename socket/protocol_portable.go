//go:build rondo_portable || !(linux || darwin || freebsd || dragonfly)

package socket

import (
	"net"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
)

// acceptStream waits for a connection. Only tasks may call it.
func (l *Listener) acceptStream() (fd.Stream, peerAddr, error) {
	var c net.Conn
	err := l.fd.Do(l.fd.Task("Serve"), driver.Readable, "accept", func() (err error) {
		c, err = l.std.Accept()
		return err
	})
	if err != nil {
		return fd.Stream{}, peerAddr{}, err
	}
	return fd.NewStream(l.fd.Loop(), c.(fd.Std)), tcpPeer(c.RemoteAddr()), nil
}

func (t *Transport) addrs() (local, remote net.Addr) { return t.stream.Addrs() }
