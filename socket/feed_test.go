package socket

import (
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/spread"
)

// A handed is a connection for a part, which another loop has accepted.
type handed struct {
	driver.Socket
	closed int
}

func (h *handed) Close() { h.closed++ }

// An unwinding loop has a task that is unwound when it gives others a turn, as by a Goexit of a
// callback.
type unwinding struct{ kernel.Loop }

func (unwinding) Inside() bool      { return true }
func (unwinding) Task() kernel.Task { return unwound{} }

type unwound struct{ kernel.Task }

func (unwound) Spend(int) { runtime.Goexit() }

// withPart calls fn in a loop, with a part of a Server that has a listener.
func withPart(t *testing.T, fn func(ctx context.Context, p *part)) {
	t.Helper()
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		l, err := Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer l.Close()
		p := &part{server: new(Server), home: new(Server)}
		p.feed = feed{from: l, part: p}
		fn(ctx, p)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestFeed: a connection that a part was handed is closed once, whichever comes first: the end of
// the task that accepts, or of the listener. Then the part does not count it.
func TestFeed(t *testing.T) {
	withPart(t, func(ctx context.Context, p *part) {
		var conns [3]handed
		for i := range conns[1:] {
			p.load.Add(1)
			p.feed.put(accepted{virtual: &conns[i]})
		}
		var accept sync.WaitGroup
		p.feed.loop = unwinding{}
		accept.Go(func() { _, _ = p.feed.Accept() })
		accept.Wait()
		listener := p.feed.begin(ctx)
		_ = listener.Close()
		p.load.Add(1)
		p.feed.put(accepted{virtual: &conns[2]})
		_ = listener.Close()
		for i, c := range conns {
			if c.closed != 1 {
				t.Errorf("connection %d was closed %d times", i, c.closed)
			}
		}
		if n := p.load.Load(); n != 0 {
			t.Errorf("%d connections are counted", n)
		}
	})
}

// TestFeedClose: Close ends an Accept that waits.
func TestFeedClose(t *testing.T) {
	withPart(t, func(ctx context.Context, p *part) {
		listener := p.feed.begin(ctx)
		rondo.Go(ctx, func(ctx context.Context) error {
			return errors.Join(rondo.Sleep(ctx, 0), listener.Close()) // when the other one waits
		})
		if _, err := listener.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept: %v", err)
		}
	})
}

// TestGoexitInSpread: if a Goexit unwinds the task that accepts for all loops, those connections
// are closed that it has handed to a part which has not begun.
func TestGoexitInSpread(t *testing.T) {
	var end sync.WaitGroup
	var c net.Conn
	end.Go(func() {
		_ = rondo.Run(t.Context(), func(ctx context.Context) error {
			l, err := Listen(ctx, "tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			defer l.Close()
			if c, err = net.Dial("tcp", l.Addr().String()); err != nil {
				return err
			}
			var once sync.Once
			s := &Server{Handler: func(context.Context, net.Conn) error { return nil }}
			return s.spread(ctx, spread.Loops{
				N:    1,
				Call: func(ctx context.Context, _ int, _ func(context.Context) error) error { return rondo.WaitCanceled(ctx) },
				Send: func(_ int, fn, _ func()) { fn(); once.Do(runtime.Goexit) },
			}, spread.Options{Listener: l})
		})
		t.Error("Run has returned")
	})
	end.Wait()
	if c == nil {
		t.Fatal("not connected")
	}
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection is still open")
	}
}
