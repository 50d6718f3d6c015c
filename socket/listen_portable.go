//go:build rondo_portable || !(linux || darwin || freebsd || dragonfly)

package socket

import (
	"net"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

func (l *Listener) prepare() {}

func bound(stdListener) net.Addr { return nil }

// An accepted is a connection that no loop has yet.
type accepted struct {
	std     net.Conn
	virtual driver.Socket // in place of std
}

// close closes a connection that no loop gets.
func (a accepted) close() {
	if a.virtual != nil {
		a.virtual.Close()
		return
	}
	a.std.Close()
}

// acceptAny waits for a connection.
func (l *Listener) acceptAny(t kernel.Task) (a accepted, err error) {
	if l.virtual {
		a.virtual, _, err = l.fd.AcceptVirtual(t)
		return a, err
	}
	err = l.fd.Do(t, driver.Readable, "accept", func() (err error) {
		a.std, err = l.std.Accept()
		return err
	})
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
func (l *Listener) open(loop kernel.Loop, a accepted, _ use) *Conn {
	if a.virtual != nil {
		return virtualConn(loop, a.virtual, l.Addr().Network())
	}
	return adopt(fd.Adopt(loop, a.std.(fd.Std)), a.std)
}
