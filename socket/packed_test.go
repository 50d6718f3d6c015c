//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package socket_test

import (
	"context"
	"errors"
	"net"
	"reflect"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// TestSessionRemoteAddr: the connection of a Session has the address that its peer
// has, as package net has it, in both families, and in its errors.
func TestSessionRemoteAddr(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		std, err := net.Listen("tcp", address)
		if err != nil {
			t.Logf("no test of %s: %v", address, err)
			continue
		}
		std.Close()
		run(t, func(ctx context.Context) error {
			l, err := socket.Listen(ctx, "tcp", address)
			if err != nil {
				return err
			}
			var got net.Addr
			var inError net.Addr
			server := &socket.Server{Session: func(c net.Conn) func(context.Context) error {
				return func(context.Context) error {
					got = c.RemoteAddr()
					c.Close()
					_, err := c.Read(make([]byte, 1))
					if e, ok := errors.AsType[*net.OpError](err); ok {
						inError = e.Addr
					}
					return nil
				}
			}}
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(ctx context.Context) error {
					if err := server.Serve(ctx, l); !errors.Is(err, net.ErrClosed) {
						return err
					}
					return nil
				})
				defer l.Close()
				c, err := socket.Dial(g, "tcp", l.Addr().String())
				if err != nil {
					return err
				}
				defer c.Close()
				if _, err := c.Write([]byte("x")); err != nil {
					return err
				}
				_, _ = c.Read(make([]byte, 1))
				if want := c.LocalAddr().(*net.TCPAddr); !reflect.DeepEqual(got, net.Addr(want)) || !reflect.DeepEqual(inError, got) {
					t.Errorf("RemoteAddr is %#v, in an error %#v; want %#v", got, inError, want)
				}
				return nil
			})
		})
	}
}
