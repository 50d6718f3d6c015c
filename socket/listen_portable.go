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

func (l *Listener) acceptTask(t kernel.Task, _ use) (*Conn, error) {
	var c net.Conn
	err := l.fd.Do(t, driver.Readable, "accept", func() (err error) {
		c, err = l.std.Accept()
		return err
	})
	if err != nil {
		return nil, err
	}
	return adopt(fd.Adopt(l.fd.Loop(), c.(fd.Std)), c), nil
}

func (c *Conn) askLocal() net.Addr { return c.local }
