//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package socket_test

import (
	"context"
	"net"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// A moved is a connection whose RemoteAddr answers only once.
type moved struct {
	*socket.Conn
	asked bool
}

func (c *moved) RemoteAddr() net.Addr {
	if c.asked {
		return nil
	}
	c.asked = true
	return c.Conn.RemoteAddr()
}

type movedListener struct{ net.Listener }

func (l movedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &moved{Conn: c.(*socket.Conn)}, nil
}

// TestPlaceOfAMovedAddress: the place that a connection has at its address is free when the
// connection has ended, whatever its RemoteAddr says by then.
func TestPlaceOfAMovedAddress(t *testing.T) {
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			run(t, func(ctx context.Context) error {
				l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
				if err != nil {
					return err
				}
				serve, stats := form(socket.Limits{ConnsPerAddr: 1}, func(err error) { t.Error(err) })
				return rondo.Group(ctx, func(g *rondo.Scope) error {
					g.Go(func(ctx context.Context) error { return serve(ctx, movedListener{l}) })
					for range 3 {
						c, err := socket.Dial(g, "tcp", l.Addr().String())
						if err != nil {
							return err
						}
						if err := roundTripByte(c); err != nil {
							t.Error(err)
						}
						_ = c.Close()
						for stats().Open > 0 {
							if err := rondo.Yield(g); err != nil {
								return err
							}
						}
					}
					g.Cancel(nil)
					return nil
				})
			})
		})
	}
}
