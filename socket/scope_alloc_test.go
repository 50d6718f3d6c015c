//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable && !race

package socket_test

import (
	"context"
	"io"
	"net"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// exchanges serves l, and returns what an exchange of one connection allocates, and a new
// connection with one exchange, both ends together.
func exchanges(t *testing.T, ctx context.Context, serve func(ctx context.Context, l net.Listener) error) (exchange, connection float64, tasks int) {
	l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := rondo.Go(ctx, func(ctx context.Context) error { return serve(ctx, l) })
	defer server.Wait(ctx)
	defer server.Cancel(nil)
	b := make([]byte, 1)
	echo := func(c net.Conn) {
		_, err := c.Write(b)
		if err == nil {
			_, err = io.ReadFull(c, b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	before := len(rondo.Tasks(ctx))
	c, err := socket.Dial(ctx, "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	exchange = testing.AllocsPerRun(200, func() { echo(c) })
	tasks = len(rondo.Tasks(ctx)) - before
	_ = c.Close()
	connection = testing.AllocsPerRun(200, func() {
		c, err := socket.Dial(ctx, "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		echo(c)
		_ = c.Close()
	})
	return exchange, connection, tasks
}

// TestScopeOfHandlerIsFree: a handler that starts nothing has one task and no scope besides: an
// exchange allocates nothing, and a connection no more than one that is accepted by hand does,
// but for the record, the function and the name of a handler. A call of a Session has its task.
func TestScopeOfHandlerIsFree(t *testing.T) {
	run(t, func(ctx context.Context) error {
		_, byHand, _ := exchanges(t, ctx, func(ctx context.Context, l net.Listener) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				for {
					c, err := l.Accept()
					if err != nil {
						return err
					}
					g.Go(func(ctx context.Context) error {
						defer c.Close()
						return echo(ctx, c)
					})
				}
			})
		})
		handler := &socket.Server{Handler: echo}
		exchange, connection, tasks := exchanges(t, ctx, handler.Serve)
		if exchange > 0 || connection > byHand+4 || tasks != 1 {
			t.Errorf("a Handler: an exchange allocates %v times, a connection %v, by hand %v; it has %d tasks", exchange, connection, byHand, tasks)
		}
		b := make([]byte, 1)
		session := &socket.Server{Session: func(c net.Conn) func(ctx context.Context) error {
			return func(context.Context) error {
				_, err := c.Read(b)
				if err == nil {
					_, err = c.Write(b)
				}
				return err
			}
		}}
		exchange, _, tasks = exchanges(t, ctx, session.Serve)
		const task, look = 2, 1 // of a call, and of the system call that finds nothing more to read
		if exchange > task+look || tasks != 1 {
			t.Errorf("a Session: an exchange allocates %v times; it has %d tasks", exchange, tasks)
		}
		return nil
	})
}
