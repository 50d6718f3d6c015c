package socket_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// start listens and serves, and returns the address and the task of Serve.
func start(t testing.TB, ctx context.Context, s *socket.Server) (addr string, served *rondo.Task) {
	t.Helper()
	l := listen(t, ctx)
	return l.Addr().String(), rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) })
}

// connected dials and waits until the server has a handler for it. The end of the test closes
// the connection.
func connected(t testing.TB, ctx context.Context, s *socket.Server, addr string) net.Conn {
	t.Helper()
	before := s.Conns()
	c, err := socket.Dial(ctx, "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := until(ctx, func() bool { return s.Conns() != before }); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestServeStd: a listener of package net is served without stopping the loop.
func TestServeStd(t *testing.T) {
	run(t, func(ctx context.Context) error {
		for _, network := range []string{"tcp", "unix"} {
			address := "127.0.0.1:0"
			if network == "unix" {
				address = t.TempDir() + "/s"
			}
			l, err := net.Listen(network, address)
			if err != nil {
				return err
			}
			s := &socket.Server{Handler: echo}
			served := rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) })
			c, err := socket.Dial(ctx, network, l.Addr().String())
			if err != nil {
				return err
			}
			if _, err := c.Write([]byte("x")); err != nil {
				return err
			}
			if _, err := c.Read(make([]byte, 1)); err != nil {
				return err
			}
			c.Close()
			if err := s.Shutdown(ctx); err != nil {
				return err
			}
			if err := served.Wait(ctx); err != socket.ErrServerClosed {
				t.Error(err)
			}
		}
		return nil
	})
}

// TestServeCancelledBefore: a listener is closed also if ctx is cancelled already.
func TestServeCancelledBefore(t *testing.T) {
	run(t, func(ctx context.Context) error {
		for name, serve := range map[string]func(ctx context.Context, l net.Listener) error{
			"Server": (&socket.Server{Handler: echo}).Serve, "Protocol": new(socket.Protocol).Serve,
		} {
			l, why := listen(t, ctx), errors.New("why")
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Cancel(why)
				return serve(g, l)
			})
			if err != why {
				t.Errorf("%s: Serve returned %v", name, err)
			}
			if err := l.Close(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s: a second Close returned %v", name, err)
			}
		}
		return nil
	})
}

// roundTrip sends data and half-closes, while another task reads it back.
func roundTrip(t testing.TB, ctx context.Context, addr string, data []byte) error {
	t.Helper()
	c, err := socket.Dial(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	return both(ctx, func(ctx context.Context) error {
		if _, err := c.Write(data); err != nil {
			return err
		}
		return c.(*socket.Conn).CloseWrite()
	}, func(ctx context.Context) error {
		got, err := io.ReadAll(c)
		if !bytes.Equal(got, data) {
			t.Errorf("%d bytes came back of %d", len(got), len(data))
		}
		return err
	})
}

// TestMaxConnsTwo: all listeners share MaxConns, and an idle listener does not
// take from it.
func TestMaxConnsTwo(t *testing.T) {
	run(t, func(ctx context.Context) error {
		now := 0
		s := &socket.Server{MaxConns: 1, Handler: func(ctx context.Context, c net.Conn) error {
			if now++; now > 1 {
				t.Errorf("%d are served at once", now)
			}
			defer func() { now-- }()
			return echo(ctx, c)
		}}
		one, _ := start(t, ctx, s)
		two, served := start(t, ctx, s)
		for _, addrs := range [][]string{{one, two, one, two}, {one, one, one}, {two, two, two}} {
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				for _, addr := range addrs {
					g.Go(func(ctx context.Context) error { return roundTrip(t, ctx, addr, []byte("hello")) })
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		c := connected(t, ctx, s, one)
		extra, err := socket.Dial(ctx, "tcp", two)
		if err != nil {
			return err
		}
		defer extra.Close()
		waiting(ctx, "room", 2)
		down := rondo.Go(ctx, s.Shutdown)
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		c.Close()
		extra.(*socket.Conn).CloseWrite()
		if err := down.Wait(ctx); err != nil {
			return err
		}
		if err := served.Wait(ctx); err != socket.ErrServerClosed {
			t.Error(err)
		}
		return nil
	})
}

// A greeter has a method that serves.
type greeter struct{}

func (greeter) serve(_ context.Context, c net.Conn) error {
	_, err := c.Read(make([]byte, 1))
	return err
}

// TestServerFunc: the task of a connection is shown with its handler's name,
// also if the handler is a method.
func TestServerFunc(t *testing.T) {
	for want, handler := range map[string]func(context.Context, net.Conn) error{"socket_test.echo": echo, "socket_test.greeter.serve": greeter{}.serve} {
		run(t, func(ctx context.Context) error {
			s := &socket.Server{Handler: handler}
			addr, served := start(t, ctx, s)
			c := connected(t, ctx, s, addr)
			tasks := rondo.Tasks(ctx)
			if got := tasks[len(tasks)-1]; !strings.HasSuffix(got.Func, want) {
				t.Errorf("%s runs %s, want %s", got.Name, got.Func, want)
			}
			served.Cancel(nil)
			_ = served.Wait(ctx)
			return c.Close()
		})
	}
}

// TestOwnsTasks: what a Handler or a call of a Session starts is its own: it has ended when the
// connection is closed. Package containment has the ways in which it fails.
func TestOwnsTasks(t *testing.T) {
	ended := 0
	exchange := func(ctx context.Context, c net.Conn) error {
		if _, err := c.Read(make([]byte, 1)); err != nil {
			return err
		}
		rondo.Go(ctx, func(ctx context.Context) error {
			defer func() { ended++ }()
			_ = rondo.WaitCanceled(ctx)
			return rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Millisecond) })
		})
		return io.EOF
	}
	for kind, s := range map[string]*socket.Server{
		"Handler": {Handler: exchange},
		"Session": {Session: func(c net.Conn) func(context.Context) error {
			return func(ctx context.Context) error { return exchange(ctx, c) }
		}},
	} {
		ended = 0
		run(t, func(ctx context.Context) error {
			addr, _ := start(t, ctx, s)
			for i := range 3 {
				c, err := socket.Dial(ctx, "tcp", addr)
				if err != nil {
					return err
				}
				defer c.Close()
				if _, err := c.Write([]byte("x")); err != nil {
					return err
				}
				if _, err := c.Read(make([]byte, 1)); err != io.EOF || ended != i+1 {
					t.Errorf("%s: connection %d was closed with %v when %d helpers had ended", kind, i, err, ended)
				}
			}
			return s.Shutdown(ctx)
		})
	}
}

// TestShutdownNeedsCtx: a task of another loop that shuts a Server down with a ctx that is not of
// its own loop would block it. The call fails, and the Server goes on.
func TestShutdownNeedsCtx(t *testing.T) {
	s := &socket.Server{Handler: func(context.Context, net.Conn) error { return nil }}
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		l := listen(t, ctx)
		serving := rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) })
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		err := rondo.OffloadFunc(ctx, func(context.Context) error {
			return rondo.Run(context.Background(), func(other context.Context) error {
				for name, wrong := range map[string]context.Context{"no loop": context.Background(), "the Server's loop": ctx} {
					if err := s.Shutdown(wrong); !errors.Is(err, rondo.ErrNoLoop) {
						t.Errorf("Shutdown with a ctx of %s returned %v", name, err)
					}
				}
				if serving := s.Stats(); serving.Open != 0 {
					t.Errorf("the Server has %d connections", serving.Open)
				}
				return s.Shutdown(other)
			})
		})
		return errors.Join(err, serving.Wait(ctx))
	})
	if !errors.Is(err, socket.ErrServerClosed) || errors.Is(err, rondo.ErrNoLoop) {
		t.Errorf("Run returned %v", err)
	}
}
