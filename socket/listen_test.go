package socket_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/socket"
)

func TestUnix(t *testing.T) {
	run(t, func(ctx context.Context) error {
		path := filepath.Join(t.TempDir(), "socket")
		l, err := socket.Listen(ctx, "unix", path)
		if err != nil {
			return err
		}
		s := &socket.Server{Handler: echo}
		rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) }).SetName("server")
		for _, where := range []string{"task", "foreign"} {
			use := func(c net.Conn, err error) (int, error) {
				if err != nil {
					return 0, err
				}
				defer c.Close()
				if _, err := io.WriteString(c, where); err != nil {
					return 0, err
				}
				if err := c.(*socket.Conn).CloseWrite(); err != nil {
					return 0, err
				}
				got, err := io.ReadAll(c)
				if string(got) != where {
					t.Errorf("got %q", got)
				}
				if c.RemoteAddr().String() != path || c.RemoteAddr().Network() != "unix" {
					t.Errorf("the remote address is %v", c.RemoteAddr())
				}
				if err := c.(*socket.Conn).SetNoDelay(true); err == nil {
					t.Error("SetNoDelay of a Unix socket succeeded")
				}
				return 0, err
			}
			if where == "task" {
				_, err = use(socket.Dial(ctx, "unix", path))
			} else {
				_, err = rondo.Offload(ctx, func(context.Context) (int, error) { return use(socket.Dial(ctx, "unix", path)) })
			}
			if err != nil {
				return err
			}
		}
		if err := s.Shutdown(ctx); err != nil {
			return err
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket's file is left: %v", err)
		}
		return nil
	})
}

// TestAcceptEnds: Close, a deadline and a cancellation end a wait in Accept, of
// a task and of a goroutine.
func TestAcceptEnds(t *testing.T) {
	type ending struct {
		want error
		end  func(l *socket.Listener, waiter *rondo.Task)
	}
	for what, e := range map[string]ending{
		"close":    {net.ErrClosed, func(l *socket.Listener, _ *rondo.Task) { l.Close() }},
		"deadline": {os.ErrDeadlineExceeded, func(l *socket.Listener, _ *rondo.Task) { l.SetDeadline(time.Unix(1, 0)) }},
		"later":    {os.ErrDeadlineExceeded, func(l *socket.Listener, _ *rondo.Task) { l.SetDeadline(time.Now().Add(time.Millisecond)) }},
		"cancel":   {context.Canceled, func(_ *socket.Listener, waiter *rondo.Task) { waiter.Cancel(nil) }},
	} {
		run(t, func(ctx context.Context) error {
			l := listen(t, ctx)
			var tasks []*rondo.Task
			for range 3 {
				tasks = append(tasks, rondo.Go(ctx, func(ctx context.Context) error {
					_, err := l.Accept()
					return err
				}))
			}
			foreign := rondo.Async(ctx, func(ctx context.Context) (error, error) {
				return rondo.Offload(ctx, func(context.Context) (error, error) {
					_, err := l.Accept()
					return err, nil
				})
			})
			waiting(ctx, "accept", 1)
			waiting(ctx, "turn", 2)
			for _, task := range tasks {
				e.end(l, task)
			}
			for _, task := range tasks {
				var op *net.OpError
				if err := task.Wait(ctx); !errors.Is(err, e.want) || !errors.As(err, &op) || op.Op != "accept" {
					t.Errorf("%s: Accept in a task returned %v", what, err)
				}
			}
			if what == "cancel" {
				l.Close()
				e.want = net.ErrClosed
			}
			if err, _ := foreign.Wait(ctx); !errors.Is(err, e.want) {
				t.Errorf("%s: Accept in a goroutine returned %v", what, err)
			}
			return nil
		})
	}
}

// TestListenErrors: invalid addresses fail with package net's errors.
func TestListenErrors(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l := listen(t, ctx)
		_, err := socket.Listen(ctx, "tcp", l.Addr().String())
		if !isAny(err, inUse) {
			t.Errorf("a port in use: %v", err)
		}
		for _, bad := range [][2]string{{"tcp", "no port"}, {"tcp", "127.0.0.1:99999"}, {"udp", "127.0.0.1:0"}, {"nothing", ":0"}, {"tcp4", "[::1]:0"}} {
			_, err := socket.Listen(ctx, bad[0], bad[1])
			var op *net.OpError
			if !errors.As(err, &op) || op.Op != "listen" {
				t.Errorf("Listen(%q, %q): %v", bad[0], bad[1], err)
			}
		}
		var unknown net.UnknownNetworkError
		if _, err := socket.Listen(ctx, "udp", ":0"); !errors.As(err, &unknown) {
			t.Errorf("udp: %v", err)
		}
		err = rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Cancel(nil)
			if _, err := socket.Listen(g, "tcp", "127.0.0.1:0"); !errors.Is(err, context.Canceled) {
				t.Errorf("Listen in a cancelled scope: %v", err)
			}
			return nil
		})
		return err
	})
}

// TestListenControl: the hooks and options of net.ListenConfig work, and
// accepted connections have no delay and are probed.
func TestListenControl(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var hooked []string
		lc := socket.ListenConfig{
			Control: func(network, address string, c syscall.RawConn) error {
				hooked = append(hooked, network)
				return c.Control(func(uintptr) {})
			},
			KeepAlive: 47 * time.Second,
		}
		l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer l.Close()
		if !slices.Equal(hooked, []string{"tcp4"}) {
			t.Errorf("Control was called for %v", hooked)
		}
		dialled, err := socket.Dial(ctx, "tcp", l.Addr().String())
		if err != nil {
			return err
		}
		defer dialled.Close()
		c, err := l.Accept()
		if err != nil {
			return err
		}
		defer c.Close()
		if runtime.GOOS == "linux" {
			checkOptions(t, "accepted", c.(*socket.Conn), 1, 47)
			checkOptions(t, "dialled", dialled.(*socket.Conn), 1, 15)
		}
		return nil
	})
}

// TestListenCancelledLate: a listener that was opened after its caller was
// cancelled is closed.
//
// Method: the loop stands still from the moment the goroutine may bind the socket, so
// that one is back before the cancellation.
func TestListenCancelledLate(t *testing.T) {
	run(t, func(ctx context.Context) error {
		before := leak.Descriptors()
		why := errors.New("why")
		var raw atomic.Value
		still := make(chan struct{})
		lc := socket.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
			<-still
			raw.Store(c)
			return nil
		}}
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				l, err := lc.Listen(ctx, "tcp", "localhost:0")
				if err == nil {
					l.Close()
				}
				return err
			})
			waiting(ctx, "offload", 1)
			close(still)
			// It has only to bind and to listen.
			for range 10_000 {
				runtime.Gosched()
			}
			g.Cancel(why)
			return nil
		})
		if !errors.Is(err, why) {
			t.Errorf("Listen: %v", err)
		}
		// Garbage is closed as well, so there must be none.
		for end := time.Now().Add(10 * time.Second); leak.Descriptors() > before && time.Now().Before(end); {
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
		}
		if n := leak.Descriptors() - before; n > 0 {
			t.Errorf("%d descriptors are left", n)
		}
		runtime.KeepAlive(raw.Load())
		return nil
	})
}
