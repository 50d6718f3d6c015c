package socket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// start listens and serves, and returns the address and the task of Serve.
func start(ctx context.Context, s *socket.Server) (addr string, served *rondo.Task, err error) {
	l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	t := rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) })
	return l.Addr().String(), t, nil
}

// connected dials and waits until the server has a handler for it.
func connected(ctx context.Context, s *socket.Server, addr string) (net.Conn, error) {
	before := s.Conns()
	c, err := socket.Dial(ctx, "tcp", addr)
	for err == nil && s.Conns() == before {
		err = rondo.Yield(ctx)
	}
	return c, err
}

// TestServeListenerClosed: closing the listener ends Serve.
func TestServeListenerClosed(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		served := rondo.Go(ctx, func(ctx context.Context) error { return socket.Serve(ctx, l, echo) })
		waiting(ctx, "accept", 1)
		l.Close()
		if err := served.Wait(ctx); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Serve returned %v", err)
		}
		return nil
	})
}

// TestMaxConns: at most MaxConns connections are served at once; the others
// wait.
func TestMaxConns(t *testing.T) {
	run(t, func(ctx context.Context) error {
		now, most := 0, 0
		var full rondo.Event
		s := &socket.Server{MaxConns: 3, Handler: func(ctx context.Context, c net.Conn) error {
			now++
			defer func() { now-- }()
			if most = max(most, now); now == 3 {
				full.Set()
			}
			if err := full.Wait(ctx); err != nil {
				return err
			}
			return echo(ctx, c)
		}}
		addr, _, err := start(ctx, s)
		if err != nil {
			return err
		}
		err = rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range 20 {
				g.Go(func(ctx context.Context) error { return roundTrip(t, ctx, addr, []byte(fmt.Sprint(i))) })
			}
			return nil
		})
		if most != 3 {
			t.Errorf("%d were served at once", most)
		}
		return errors.Join(err, s.Shutdown(ctx))
	})
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
		one, _, err := start(ctx, s)
		if err != nil {
			return err
		}
		two, served, err := start(ctx, s)
		if err != nil {
			return err
		}
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
		c, err := connected(ctx, s, one)
		if err != nil {
			return err
		}
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
			addr, served, err := start(ctx, s)
			if err != nil {
				return err
			}
			c, err := connected(ctx, s, addr)
			if err != nil {
				return err
			}
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
			addr, _, err := start(ctx, s)
			if err != nil {
				return err
			}
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
		l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		serving := rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) })
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		err = rondo.OffloadFunc(ctx, func(context.Context) error {
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
