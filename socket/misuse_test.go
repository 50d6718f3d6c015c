package socket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// panics runs fn and checks its panic.
func panics(t testing.TB, want string, fn func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
			t.Errorf("panicked with %q, want %q", got, want)
		}
	}()
	fn()
}

// TestNoLoop: a ctx that belongs to no loop fails, and the error names the
// call.
func TestNoLoop(t *testing.T) {
	ctx := context.Background()
	_, dial := socket.Dial(ctx, "tcp", "127.0.0.1:1")
	_, listen := socket.Listen(ctx, "tcp", "127.0.0.1:0")
	for call, err := range map[string]error{
		"socket.Dial": dial, "socket.Listen": listen,
		"socket.WaitRead": socket.WaitRead(ctx, 0), "socket.WaitWrite": socket.WaitWrite(ctx, 0),
	} {
		if !errors.Is(err, rondo.ErrNoLoop) || !strings.Contains(err.Error(), call) {
			t.Errorf("%s: %v", call, err)
		}
	}
	panics(t, "rondo: socket.Pipe: this ctx belongs to no running loop", func() { socket.Pipe(ctx) })
	panics(t, "rondo: socket.WatchRead: this ctx belongs to no running loop", func() { socket.WatchRead(ctx, 0, func() {}) })
	run(t, func(inner context.Context) error {
		l, err := socket.Listen(inner, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer l.Close()
		if err := socket.Serve(ctx, l, echo); !errors.Is(err, rondo.ErrNoLoop) {
			t.Errorf("Serve: %v", err)
		}
		s := &socket.Server{Handler: echo}
		served := rondo.Go(inner, func(ctx context.Context) error { return s.Serve(ctx, l) })
		waiting(inner, "accept", 1)
		if err := s.Shutdown(ctx); !errors.Is(err, rondo.ErrNoLoop) {
			t.Errorf("Shutdown: %v", err)
		}
		if served.Done() {
			t.Error("a Shutdown that was refused ended the server")
		}
		return s.Shutdown(inner)
	})
}

// TestSimulation: a simulation has pipes; everything else returns an error that
// names the cure.
func TestSimulation(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		_, dial := socket.Dial(ctx, "tcp", "127.0.0.1:1")
		_, listen := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		for what, err := range map[string]error{"Dial": dial, "Listen": listen, "WaitRead": socket.WaitRead(ctx, 0)} {
			if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "simulation") {
				t.Errorf("%s: %v", what, err)
			}
		}
		panics(t, "simulation", func() { socket.WatchRead(ctx, 0, func() {}) })
	})
}

// TestCallback: a call that would wait panics in a callback.
func TestCallback(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		p, q := socket.Pipe(ctx)
		l := listen(t, ctx)
		done := rondo.NewFuture[int](ctx)
		rondo.LoopOf(ctx).CallSoon(func() {
			defer done.Set(0)
			panics(t, "rondo: Read in a callback: callbacks must not wait", func() { a.Read(make([]byte, 1)) })
			panics(t, "rondo: Write in a callback: callbacks must not wait", func() { b.Write(make([]byte, 1)) })
			panics(t, "rondo: Accept in a callback: callbacks must not wait", func() { l.Accept() })
			panics(t, "rondo: Read in a callback: callbacks must not wait", func() { p.Read(make([]byte, 1)) })
			panics(t, "rondo: Write in a callback: callbacks must not wait", func() { q.Write(make([]byte, 1)) })
			panics(t, "in a callback: callbacks must not wait", func() { socket.Dial(ctx, "tcp", l.Addr().String()) })
			// These never wait.
			a.Close()
			p.Close()
		})
		_, err := done.Wait(ctx)
		return err
	})
}

func TestNilHandler(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l := listen(t, ctx)
		panics(t, "rondo: socket.Server.Serve without a Handler: set Handler or Session", func() { socket.Serve(ctx, l, nil) })
		both := &socket.Server{Handler: echo, Session: numbered}
		panics(t, "rondo: socket.Server.Serve with a Handler and a Session: set only one of them", func() { both.Serve(ctx, l) })
		panics(t, "rondo: socket.Server.Serve with a nil Listener", func() { socket.Serve(ctx, nil, echo) })
		panics(t, "rondo: socket.WatchRead with a nil function", func() { socket.WatchRead(ctx, 0, nil) })
		return nil
	})
}

// TestNegativeLimits: what was to be a limit, and is none because a sum went wrong, is said.
func TestNegativeLimits(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l := listen(t, ctx)
		panics(t, "rondo: socket.Server.Serve with a negative MaxConns: 0 means no limit", func() { (&socket.Server{Handler: echo, MaxConns: -1}).Serve(ctx, l) })
		for name, limits := range map[string]socket.Limits{
			"FirstByte": {FirstByte: -1}, "Idle": {Idle: -1}, "ConnsPerAddr": {ConnsPerAddr: -1}, "RatePerAddr": {RatePerAddr: -1},
		} {
			panics(t, "rondo: socket.Server.Serve with a negative Limits."+name, func() { (&socket.Server{Handler: echo, Limits: limits}).Serve(ctx, l) })
			panics(t, "rondo: socket.Protocol.Serve with a negative Limits."+name, func() { (&socket.Protocol{Limits: limits}).Serve(ctx, l) })
		}
		return nil
	})
}

// TestClosedLoop: an ended loop has another error than a ctx without a loop.
func TestClosedLoop(t *testing.T) {
	var old context.Context
	run(t, func(ctx context.Context) error {
		old = ctx
		return nil
	})
	if _, err := socket.Dial(old, "tcp", "127.0.0.1:1"); err == nil {
		t.Error("Dial succeeded")
	}
	if _, err := socket.Listen(old, "tcp", "127.0.0.1:0"); !errors.Is(err, context.Canceled) {
		t.Errorf("Listen: %v", err)
	}
	if err := socket.WaitRead(old, 0); !errors.Is(err, rondo.ErrLoopClosed) {
		t.Errorf("WaitRead: %v", err)
	}
}

// TestOtherLoop: a Server serves on one loop.
func TestOtherLoop(t *testing.T) {
	s := &socket.Server{Handler: echo}
	run(t, func(ctx context.Context) error {
		l := listen(t, ctx)
		l.Close()
		if err := s.Serve(ctx, l); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Serve: %v", err)
		}
		return nil
	})
	run(t, func(ctx context.Context) error {
		l := listen(t, ctx)
		if err := s.Serve(ctx, l); err == nil || !strings.Contains(err.Error(), "another loop") {
			t.Errorf("Serve: %v", err)
		}
		return nil
	})
}

// TestOtherLoopsListener: a listener that would block this loop is refused, and
// stays as it is.
func TestOtherLoopsListener(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l := listen(t, ctx)
		return outside(ctx, func() error {
			return rondo.Run(context.Background(), func(ctx context.Context) error {
				for _, serve := range []func(context.Context, net.Listener) error{
					(&socket.Server{Handler: echo}).Serve, new(socket.Protocol).Serve,
				} {
					if err := serve(ctx, l); err == nil || !strings.Contains(err.Error(), "another loop") {
						t.Errorf("Serve: %v", err)
					}
				}
				return l.SetDeadline(time.Time{})
			})
		})
	})
}

// TestReadInAnotherLoop: a task that reads a connection of another loop blocks its own loop. The
// report says so, and names the line.
func TestReadInAnotherLoop(t *testing.T) {
	reported := make(report, 1)
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(reported, nil)))
	defer slog.SetDefault(before)
	run(t, func(ctx context.Context) error {
		c, _ := pair(t, ctx)
		read := make(chan error, 1)
		go func() {
			// One second: a step is reported once, and on a slow machine it may take a while to
			// get to its Read.
			other := rondo.Runner{SlowStep: time.Second}
			read <- other.Run(context.Background(), func(context.Context) error {
				_, err := c.Read(make([]byte, 1))
				return err
			})
		}()
		text, _, err := rondo.Receive(ctx, reported)
		if err == nil && (!strings.Contains(text, "its connection belongs to another loop") || !strings.Contains(text, "misuse_test.go:")) {
			t.Errorf("reported %s", text)
		}
		_ = c.Close()
		_, _, waited := rondo.Receive(ctx, read) // the read has failed, because the connection is closed
		return errors.Join(err, waited)
	})
}

// TestPipeInAnotherLoop: a task that reads an end of a Pipe of another loop blocks its own loop, as
// with any connection, and reads what is written. It is not told that the end is closed.
func TestPipeInAnotherLoop(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := socket.Pipe(ctx)
		defer b.Close()
		ended := make(chan error, 1)
		go func() {
			ended <- rondo.Run(context.Background(), func(context.Context) error {
				got := make([]byte, 5)
				if _, err := io.ReadFull(a, got); err != nil || string(got) != "hello" {
					t.Errorf("read %q, %v", got, err)
				}
				_, err := a.Write([]byte("x"))
				return errors.Join(err, a.Close())
			})
		}()
		if _, err := io.WriteString(b, "hello"); err != nil {
			t.Error(err)
		}
		if got, err := io.ReadAll(b); err != nil || string(got) != "x" {
			t.Errorf("the other end: read %q, %v", got, err)
		}
		err, _, waited := rondo.Receive(ctx, ended)
		return errors.Join(err, waited)
	})
}

// A report is where a log writes its first line.
type report chan string

func (r report) Write(b []byte) (int, error) {
	select {
	case r <- string(b):
	default:
	}
	return len(b), nil
}
