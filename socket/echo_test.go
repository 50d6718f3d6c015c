package socket_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

func echo(ctx context.Context, c net.Conn) error {
	_, err := io.Copy(c, c)
	return err
}

// TestEchoThousand: a thousand connections at once, on one loop with the server.
func TestEchoThousand(t *testing.T) {
	const conns, rounds = 1000, 5
	run(t, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		s := &socket.Server{Handler: echo}
		served := rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) })
		var arrived rondo.Event
		count := 0
		err = rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range conns {
				g.Go(func(ctx context.Context) error {
					c, err := socket.Dial(ctx, "tcp", l.Addr().String())
					if err != nil {
						return err
					}
					defer c.Close()
					// All are connected before the first one writes.
					if count++; count == conns {
						arrived.Set()
					}
					if err := arrived.Wait(ctx); err != nil {
						return err
					}
					for r := range rounds {
						want := fmt.Sprintf("connection %d, round %d", i, r)
						if _, err := io.WriteString(c, want); err != nil {
							return err
						}
						got := make([]byte, len(want))
						if _, err := io.ReadFull(c, got); err != nil {
							return err
						}
						if string(got) != want {
							t.Errorf("got %q, want %q", got, want)
						}
					}
					return nil
				})
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := served.Wait(ctx); err != socket.ErrServerClosed {
			t.Errorf("Serve returned %v", err)
		}
		return nil
	})
}
