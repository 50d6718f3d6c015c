package socket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

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

// TestServeCancelled: the scope around Serve ends it, its handlers and their
// connections.
func TestServeCancelled(t *testing.T) {
	run(t, func(ctx context.Context) error {
		s := &socket.Server{Handler: echo, OnError: func(_ net.Conn, err error) { t.Errorf("reported: %v", err) }}
		addr, served, err := start(ctx, s)
		if err != nil {
			return err
		}
		c, err := connected(ctx, s, addr)
		if err != nil {
			return err
		}
		defer c.Close()
		gone := errors.New("gone")
		served.Cancel(gone)
		if err := served.Wait(ctx); !errors.Is(err, gone) {
			t.Errorf("Serve returned %v", err)
		}
		if _, err := c.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the peer read %v", err)
		}
		if _, err := socket.Dial(ctx, "tcp", addr); !isAny(err, refused) {
			t.Errorf("the listener is not closed: %v", err)
		}
		return nil
	})
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

// TestHandlerError: a handler's error goes to OnError, and other handlers go
// on.
func TestHandlerError(t *testing.T) {
	run(t, func(ctx context.Context) error {
		bad := errors.New("bad")
		var reported []error
		s := &socket.Server{
			Handler: func(ctx context.Context, c net.Conn) error { return bad },
			OnError: func(c net.Conn, err error) {
				if c == nil || c.RemoteAddr() == nil {
					t.Error("OnError without the connection")
				}
				reported = append(reported, err)
			},
		}
		addr, served, err := start(ctx, s)
		if err != nil {
			return err
		}
		for range 3 {
			c, err := socket.Dial(ctx, "tcp", addr)
			if err != nil {
				return err
			}
			if _, err := c.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("the peer read %v", err)
			}
			c.Close()
		}
		if len(reported) != 3 || reported[0] != bad {
			t.Errorf("reported %v", reported)
		}
		if err := s.Shutdown(ctx); err != nil {
			return err
		}
		if err := served.Wait(ctx); err != socket.ErrServerClosed {
			t.Error(err)
		}
		return nil
	})
}

// TestHandlerPanic: with the Runner's Recover a panic is an error of its
// connection; without it it ends the loop.
func TestHandlerPanic(t *testing.T) {
	handler := func(ctx context.Context, c net.Conn) error { panic("oh") }
	var reported error
	main := func(ctx context.Context) error {
		s := &socket.Server{Handler: handler, OnError: func(_ net.Conn, err error) { reported = err }}
		addr, served, err := start(ctx, s)
		if err != nil {
			return err
		}
		c, err := socket.Dial(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := c.Read(make([]byte, 1)); err != io.EOF {
			return err
		}
		if err := s.Shutdown(ctx); err != nil {
			return err
		}
		if err := served.Wait(ctx); err != socket.ErrServerClosed {
			t.Error(err)
		}
		return nil
	}
	if err := (&rondo.Runner{Recover: true}).Run(context.Background(), main); err != nil {
		t.Error(err)
	}
	var p *rondo.PanicError
	if !errors.As(reported, &p) || p.Value != "oh" || !strings.Contains(string(p.Stack), "TestHandlerPanic") {
		t.Errorf("reported %v", reported)
	}
	reported = nil
	func() {
		defer func() {
			p, _ := recover().(*rondo.PanicError)
			if p == nil || p.Value != "oh" {
				t.Errorf("Run panicked with %v", p)
			}
		}()
		t.Error(rondo.Run(context.Background(), main))
	}()
	if reported != nil {
		t.Errorf("reported %v", reported)
	}
}

// TestOnErrorPanics: a connection is closed also if OnError panics, whatever it is called
// for.
func TestOnErrorPanics(t *testing.T) {
	panics := func(context.Context) error { panic("oh") }
	fails := func(context.Context) error { return errors.New("oh") }
	for name, fn := range map[string]func(context.Context) error{"panic": panics, "error": fails} {
		for kind, s := range map[string]*socket.Server{
			"handler": {Handler: func(ctx context.Context, _ net.Conn) error { return fn(ctx) }},
			"session": {Session: func(net.Conn) func(context.Context) error { return fn }},
		} {
			t.Run(kind+" "+name, func(t *testing.T) {
				var conn net.Conn
				s.OnError = func(c net.Conn, _ error) { conn = c; panic("in OnError") }
				err := (&rondo.Runner{Recover: true}).Run(t.Context(), func(ctx context.Context) error {
					addr, served, err := start(ctx, s)
					if err != nil {
						return err
					}
					c, err := socket.Dial(ctx, "tcp", addr)
					if err != nil {
						return err
					}
					defer c.Close()
					if _, err := c.Write([]byte("x")); err != nil {
						return err
					}
					var p *rondo.PanicError
					if err := served.Wait(ctx); !errors.As(err, &p) || p.Value != "in OnError" {
						t.Errorf("Serve: %v", err)
					}
					if err := conn.Close(); !errors.Is(err, net.ErrClosed) {
						t.Errorf("closed for the second time: %v", err)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
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

// TestServeTwo: one Server, two listeners.
func TestServeTwo(t *testing.T) {
	run(t, func(ctx context.Context) error {
		s := &socket.Server{Handler: echo}
		one, _, err := start(ctx, s)
		if err != nil {
			return err
		}
		two, _, err := start(ctx, s)
		if err != nil {
			return err
		}
		for _, addr := range []string{one, two} {
			if err := roundTrip(t, ctx, addr, []byte("hello")); err != nil {
				return err
			}
		}
		return s.Shutdown(ctx)
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
