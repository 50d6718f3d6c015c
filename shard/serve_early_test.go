package shard_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/shard"
	"github.com/rondo-go/rondo/socket"
)

// TestServeShutdownEarly: a Shutdown that comes before another shard listens ends that
// shard's part too.
func TestServeShutdownEarly(t *testing.T) {
	s := &socket.Server{Handler: func(context.Context, net.Conn) error { return nil }}
	release := make(chan bool)
	begun := false
	config := shard.ServeConfig{Listen: socket.ListenConfig{ReusePort: true}}
	config.Wrap = func(ctx context.Context, l net.Listener) net.Listener {
		if shard.Of(ctx).Index() == 0 {
			begun = true
		}
		return l
	}
	mustRun(t, 2, func(ctx context.Context, me *shard.Shard) error {
		if me.Index() == 1 {
			<-release // holds the loop
			return nil
		}
		serving := rondo.Go(ctx, func(ctx context.Context) error { return config.Serve(ctx, "tcp", "127.0.0.1:0", s) })
		for !begun {
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
		}
		if err := rondo.Yield(ctx); err != nil { // the other part has been called
			return err
		}
		ending := rondo.Go(ctx, s.Shutdown)
		if err := rondo.Yield(ctx); err != nil { // the other part has been told
			return err
		}
		close(release)
		if err := serving.Wait(ctx); err != socket.ErrServerClosed {
			t.Errorf("Serve: %v", err)
		}
		return ending.Wait(ctx)
	})
}

// TestServeShutdownFills: a client that connects just before a Shutdown takes the last room. It is
// accepted, and an idle session like any other.
func TestServeShutdownFills(t *testing.T) {
	for _, reuse := range []bool{false, true} {
		if reuse && runtime.GOOS != "linux" {
			continue
		}
		s := &socket.Server{MaxConns: 1, Session: func(net.Conn) func(context.Context) error {
			return func(context.Context) error { return nil }
		}}
		onFirst(t, 1, func(ctx context.Context, me *shard.Shard) error {
			at := rondo.NewFuture[string](ctx)
			config := shard.ServeConfig{Listen: socket.ListenConfig{ReusePort: reuse}}
			config.Wrap = func(_ context.Context, l net.Listener) net.Listener {
				at.Set(l.Addr().String())
				return l
			}
			serving := rondo.Go(ctx, func(ctx context.Context) error { return config.Serve(ctx, "tcp", "127.0.0.1:0", s) })
			address, err := at.Wait(ctx)
			if err != nil {
				return err
			}
			if err := rondo.Sleep(ctx, 0); err != nil { // it accepts
				return err
			}
			c, err := net.Dial("tcp", address) // holds the loop, which accepts it later
			if err != nil {
				return err
			}
			defer c.Close()
			if err := rondo.Timeout(ctx, 30*time.Second, s.Shutdown); err != nil {
				t.Errorf("reuse %v: Shutdown: %v", reuse, err)
			}
			if err := serving.Wait(ctx); err != socket.ErrServerClosed {
				t.Errorf("reuse %v: Serve: %v", reuse, err)
			}
			if _, err := c.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("reuse %v: the client has read %v", reuse, err)
			}
			return nil
		})
	}
}

// A pausing listener has no descriptor left for the second connection.
type pausing struct {
	net.Listener
	accepted int
	over     chan bool // closed when the server accepts no more
}

func (p *pausing) Accept() (net.Conn, error) {
	if p.accepted++; p.accepted == 2 {
		return nil, syscall.EMFILE
	}
	return p.Listener.Accept()
}

func (p *pausing) Close() error {
	close(p.over)
	return p.Listener.Close()
}

// TestServeShutdownPaused: a Shutdown while a shard does not accept for want of descriptors cuts no
// connection.
func TestServeShutdownPaused(t *testing.T) {
	if runtime.GOOS != "linux" {
		return
	}
	s := &socket.Server{Handler: func(_ context.Context, c net.Conn) error {
		_, err := io.Copy(c, c)
		return err
	}}
	address, over, served := make(chan string, 1), make(chan bool), make(chan error, 1)
	go func() {
		c, err := net.Dial("tcp", <-address)
		if err == nil {
			<-over
			for range 3 {
				if _, err = io.WriteString(c, "x"); err == nil {
					_, err = io.ReadFull(c, make([]byte, 1))
				}
			}
			c.Close()
		}
		served <- err
	}()
	onFirst(t, 1, func(ctx context.Context, me *shard.Shard) error {
		config := shard.ServeConfig{Listen: socket.ListenConfig{ReusePort: true}}
		config.Wrap = func(_ context.Context, l net.Listener) net.Listener {
			address <- l.Addr().String()
			return &pausing{Listener: l, over: over}
		}
		s.OnError = func(_ net.Conn, err error) { // the pause begins
			if !errors.Is(err, syscall.EMFILE) {
				t.Error(err)
			}
			rondo.Go(ctx, s.Shutdown)
		}
		if err := config.Serve(ctx, "tcp", "127.0.0.1:0", s); err != socket.ErrServerClosed {
			t.Errorf("Serve: %v", err)
		}
		return nil
	})
	if err := <-served; err != nil {
		t.Errorf("the client: %v", err)
	}
}

// TestServeEnds: Serve returns why it has ended: its listener was closed by another, or ctx was
// cancelled, also if a Shutdown waits. Then no client waits in vain while a handler ends.
func TestServeEnds(t *testing.T) {
	onFirst(t, 1, func(ctx context.Context, me *shard.Shard) error {
		var handles, end rondo.Event
		s := &socket.Server{Handler: func(ctx context.Context, c net.Conn) error {
			handles.Set()
			return rondo.Shield(ctx, end.Wait)
		}}
		l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		serving := rondo.Go(ctx, func(ctx context.Context) error { return new(shard.ServeConfig).ServeListener(ctx, l, s) })
		if err := rondo.Yield(ctx); err != nil { // it accepts
			return err
		}
		if err := l.Close(); err != nil {
			return err
		}
		if err := serving.Wait(ctx); !errors.Is(err, net.ErrClosed) || err == socket.ErrServerClosed {
			t.Errorf("the listener was closed: %v", err)
		}

		s = &socket.Server{Handler: s.Handler}
		if l, err = socket.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
			return err
		}
		serving = rondo.Go(ctx, func(ctx context.Context) error { return new(shard.ServeConfig).ServeListener(ctx, l, s) })
		c, err := socket.Dial(ctx, "tcp", l.Addr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		if err := handles.Wait(ctx); err != nil {
			return err
		}
		if err := new(shard.ServeConfig).Serve(ctx, "tcp", "127.0.0.1:0", s); err == nil || !strings.Contains(err.Error(), "serves already") {
			t.Errorf("a second Serve: %v", err)
		}
		serving.Cancel(errBad)
		for c, err := net.Dial("tcp", l.Addr().String()); err == nil; c, err = net.Dial("tcp", l.Addr().String()) {
			c.Close()
			if err := rondo.Yield(ctx); err != nil { // until the listener is closed
				return err
			}
		}
		ending := rondo.Go(ctx, s.Shutdown)
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		end.Set()
		if err := serving.Wait(ctx); err != errBad {
			t.Errorf("cancelled: %v", err)
		}
		return ending.Wait(ctx)
	})
}

// TestServeClosesListener: the listening socket is closed also if Serve fails before it
// begins.
func TestServeClosesListener(t *testing.T) {
	closed := &socket.Server{Handler: func(context.Context, net.Conn) error { return nil }}
	if err := closed.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	onFirst(t, 2, func(ctx context.Context, me *shard.Shard) error {
		for _, reuse := range []bool{false, true} {
			config := shard.ServeConfig{Listen: socket.ListenConfig{ReusePort: reuse}}
			before := leak.Descriptors()
			if err := config.Serve(ctx, "tcp", "127.0.0.1:0", closed); err != socket.ErrServerClosed {
				t.Errorf("reuse %v: %v", reuse, err)
			}
			if n := leak.Descriptors(); n > before {
				t.Errorf("reuse %v: Serve has returned and left %d descriptors", reuse, n-before)
			}
		}
		l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		if err := new(shard.ServeConfig).ServeListener(cancelled, l, closed); err != context.Canceled {
			t.Errorf("cancelled: %v", err)
		}
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("ServeListener has returned, and Close of its listener returns %v", err)
		}
		return nil
	})
}

// TestServeCancelledEarly: a connection that was handed to a shard whose part then does
// not begin is closed.
func TestServeCancelledEarly(t *testing.T) {
	s := &socket.Server{Handler: func(context.Context, net.Conn) error { return nil }}
	release := make(chan bool)
	mustRun(t, 2, func(ctx context.Context, me *shard.Shard) error {
		if me.Index() == 1 {
			<-release // holds the loop
			return nil
		}
		l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		c, err := net.Dial("tcp", l.Addr().String()) // the first one goes to shard-1
		if err != nil {
			return err
		}
		defer c.Close()
		serving := rondo.Go(ctx, func(ctx context.Context) error { return new(shard.ServeConfig).ServeListener(ctx, l, s) })
		if err := rondo.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
		serving.Cancel(errBad)
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		close(release)
		if err := serving.Wait(ctx); err != errBad {
			t.Errorf("Serve: %v", err)
		}
		// The loop of shard-1 has the rest to do.
		if _, err := shard.Call(ctx, me.At(1), func(context.Context) (int, error) { return 0, nil }); err != nil {
			return err
		}
		if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			return err
		}
		if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("the connection is still open")
		}
		return nil
	})
}
