package socket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// TestShutdownCut: when ctx ends first, the remaining connections are cancelled
// and closed, and Shutdown returns the cause.
func TestShutdownCut(t *testing.T) {
	for _, where := range []string{"task", "foreign"} {
		run(t, func(ctx context.Context) error {
			var cause error
			var shielded error
			s := &socket.Server{Handler: func(ctx context.Context, c net.Conn) error {
				_, err := c.Read(make([]byte, 1))
				cause = context.Cause(ctx)
				// A Shield does not make the connection usable.
				shielded = rondo.Shield(ctx, func(context.Context) error {
					_, err := c.Read(make([]byte, 1))
					return err
				})
				return err
			}, OnError: func(_ net.Conn, err error) { t.Errorf("the cut was reported as %v", err) }}
			addr, served := start(t, ctx, s)
			c := connected(t, ctx, s, addr)
			var err error
			if where == "task" {
				err = rondo.Timeout(ctx, time.Millisecond, s.Shutdown)
			} else {
				_, err = rondo.Offload(ctx, func(context.Context) (int, error) {
					ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
					defer cancel()
					return 0, s.Shutdown(ctx)
				})
			}
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Shutdown returned %v", err)
			}
			if err := served.Wait(ctx); !errors.Is(err, socket.ErrServerClosed) {
				t.Errorf("Serve returned %v", err)
			}
			if cause != socket.ErrServerClosed {
				t.Errorf("the handler was cancelled with %v", cause)
			}
			if !errors.Is(shielded, net.ErrClosed) {
				t.Errorf("the handler's connection gave %v", shielded)
			}
			if _, err := c.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("the peer read %v", err)
			}
			return nil
		})
	}
}

// TestShutdownBeforeServe: a Server that was shut down does not serve.
func TestShutdownBeforeServe(t *testing.T) {
	run(t, func(ctx context.Context) error {
		s := &socket.Server{Handler: echo}
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		_, served := start(t, ctx, s)
		if err := served.Wait(ctx); err != socket.ErrServerClosed {
			t.Errorf("Serve returned %v", err)
		}
		return nil
	})
}

// TestShutdownAtMaxConns: a Server that waits for room ends as well. Idle sessions make room.
func TestShutdownAtMaxConns(t *testing.T) {
	idle := func(net.Conn) func(ctx context.Context) error {
		return func(context.Context) error { return nil }
	}
	run(t, func(ctx context.Context) error {
		for _, c := range []struct {
			server *socket.Server
			limit  time.Duration
			want   error
		}{
			{&socket.Server{MaxConns: 1, Handler: echo}, 0, context.DeadlineExceeded},
			{&socket.Server{MaxConns: 1, Session: idle}, 30 * time.Second, nil},
		} {
			s := c.server
			addr, served := start(t, ctx, s)
			connected(t, ctx, s, addr)
			waiting(ctx, "room", 1)
			if err := rondo.Timeout(ctx, c.limit, s.Shutdown); !errors.Is(err, c.want) {
				t.Errorf("Shutdown: %v, want %v", err, c.want)
			}
			if err := served.Wait(ctx); !errors.Is(err, socket.ErrServerClosed) {
				t.Errorf("Serve: %v", err)
			}
		}
		return nil
	})
}

// TestShutdownAfterLoop: when the loop has ended there is nothing to shut down.
func TestShutdownAfterLoop(t *testing.T) {
	s := &socket.Server{Handler: echo}
	run(t, func(ctx context.Context) error {
		start(t, ctx, s)
		waiting(ctx, "accept", 1)
		return nil
	})
	if err := s.Shutdown(context.Background()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// closeEvent is a listener that sets an event when it has been closed.
type closeEvent struct {
	net.Listener
	closed rondo.Event
}

func (l *closeEvent) Close() error {
	defer l.closed.Set()
	return l.Listener.Close()
}

// TestCancelClosesListener: when Serve is cancelled it closes its listener, even
// while a handler still runs.
func TestCancelClosesListener(t *testing.T) {
	run(t, func(ctx context.Context) error {
		// A path of its own: another process may get a TCP port that was just freed.
		std, err := socket.Listen(ctx, "unix", filepath.Join(t.TempDir(), "s"))
		if err != nil {
			return err
		}
		l := &closeEvent{Listener: std}
		var serving, end rondo.Event
		why := errors.New("why")
		err = rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				return socket.Serve(ctx, l, func(ctx context.Context, c net.Conn) error {
					serving.Set()
					return rondo.Shield(ctx, end.Wait)
				})
			})
			c, err := socket.Dial(g, "unix", l.Addr().String())
			if err != nil {
				return err
			}
			defer c.Close()
			if err := serving.Wait(g); err != nil {
				return err
			}
			g.Cancel(why)
			return rondo.Shield(ctx, func(ctx context.Context) error {
				defer end.Set()
				if err := l.closed.Wait(ctx); err != nil {
					return err
				}
				c, err := socket.Dial(ctx, "unix", l.Addr().String())
				if err == nil {
					c.Close()
					t.Error("connected to a server that was cancelled")
				}
				return nil
			})
		})
		if !errors.Is(err, why) {
			t.Errorf("Serve: %v", err)
		}
		return nil
	})
}

// TestShutdownInHandler: a Handler that shuts its own Server down would wait for itself. It is
// told, and the Server goes on.
func TestShutdownInHandler(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var failed []error
		s := &socket.Server{}
		s.Handler = func(ctx context.Context, c net.Conn) error {
			if len(failed) == 0 {
				return s.Shutdown(ctx)
			}
			return nil
		}
		s.OnError = func(_ net.Conn, err error) { failed = append(failed, err) }
		addr, served := start(t, ctx, s)
		for range 2 { // the second one is served
			c, err := socket.Dial(ctx, "tcp", addr)
			if err != nil {
				return err
			}
			_, _ = io.ReadAll(c)
			c.Close()
		}
		p, ok := errors.AsType[*rondo.PanicError](errors.Join(failed...))
		if len(failed) != 1 || !ok || !strings.Contains(fmt.Sprint(p.Value), "call it in a task of the scope around Serve") {
			t.Errorf("reported %v", failed)
		}
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := served.Wait(ctx); !errors.Is(err, socket.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
		return nil
	})
}
