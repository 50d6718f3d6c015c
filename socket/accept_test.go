package socket_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// failing is a listener whose Accept returns the given errors, for nil a connection, and then ends.
type failing struct {
	net.Listener
	errs  []error
	tried []time.Time
	ctx   context.Context
}

func (f *failing) Accept() (net.Conn, error) {
	f.tried = append(f.tried, rondo.Now(f.ctx))
	if len(f.errs) == 0 {
		return nil, net.ErrClosed
	}
	err := f.errs[0]
	f.errs = f.errs[1:]
	if err == nil {
		c, other := net.Pipe()
		return c, other.Close()
	}
	return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", err)}
}

// TestAcceptBacksOff: after temporary errors Serve waits, longer each time, and
// reports them.
func TestAcceptBacksOff(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l := listen(t, ctx)
		f := &failing{Listener: l, ctx: ctx, errs: []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ECONNABORTED, syscall.ENOMEM}}
		want := f.errs
		var reported []error
		s := &socket.Server{Handler: echo, OnError: func(c net.Conn, err error) {
			if c != nil {
				t.Error("OnError with a connection")
			}
			reported = append(reported, err)
		}}
		if err := s.Serve(ctx, f); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Serve returned %v", err)
		}
		if len(reported) != len(want) {
			t.Fatalf("reported %v", reported)
		}
		for i, err := range reported {
			delay := 5 * time.Millisecond << i
			if !errors.Is(err, want[i]) || !strings.Contains(err.Error(), delay.String()) {
				t.Errorf("error %d is %v", i, err)
			}
			if waited := f.tried[i+1].Sub(f.tried[i]); waited < delay {
				t.Errorf("the wait after error %d took %v", i, waited)
			}
		}
		return nil
	})
}

// TestAcceptBacksOffAnew: after a connection the wait is short again. Without OnError this is
// logged.
func TestAcceptBacksOffAnew(t *testing.T) {
	var logged bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))
	defer slog.SetDefault(before)
	run(t, func(ctx context.Context) error {
		f := &failing{Listener: listen(t, ctx), ctx: ctx, errs: []error{syscall.EMFILE, syscall.EMFILE, nil, syscall.EMFILE}}
		if err := socket.Serve(ctx, f, func(context.Context, net.Conn) error { return nil }); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Serve returned %v", err)
		}
		return nil
	})
	if text := logged.String(); strings.Count(text, "5ms") != 2 || strings.Count(text, "10ms") != 1 {
		t.Errorf("it was logged: %s", text)
	}
}

// TestServeOnTwoLoops: a Server serves on one loop. Serve on another one fails, and closes its
// listener.
func TestServeOnTwoLoops(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l := listen(t, ctx)
		s := &socket.Server{Handler: echo}
		served := rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) })
		c, err := socket.Dial(ctx, "tcp", l.Addr().String())
		if err != nil {
			return err
		}
		_, _ = io.WriteString(c, "x")
		if _, err := c.Read(make([]byte, 1)); err != nil { // now it serves
			return err
		}
		c.Close()
		err = outside(ctx, func() error {
			return rondo.Run(t.Context(), func(ctx context.Context) error {
				l := listen(t, ctx)
				if err := s.Serve(ctx, l); err == nil || errors.Is(err, socket.ErrServerClosed) {
					t.Errorf("Serve on another loop: %v", err)
				}
				if err := l.Close(); !errors.Is(err, net.ErrClosed) {
					t.Errorf("its listener is open: %v", err)
				}
				return nil
			})
		})
		if err != nil {
			t.Error(err)
		}
		l.Close()
		_ = served.Wait(ctx)
		return nil
	})
}

// TestConnsPerAddrOfUnix: clients that have no IP address are not limited together.
func TestConnsPerAddrOfUnix(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "unix", filepath.Join(t.TempDir(), "s"))
		if err != nil {
			return err
		}
		s := &socket.Server{Handler: echo, Limits: socket.Limits{ConnsPerAddr: 1}}
		served := rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) })
		for range 3 {
			c, err := socket.Dial(ctx, "unix", l.Addr().String())
			if err != nil {
				return err
			}
			defer c.Close()
			if _, err := io.WriteString(c, "x"); err != nil {
				t.Error(err)
			}
			if _, err := c.Read(make([]byte, 1)); err != nil {
				t.Error(err)
			}
		}
		l.Close()
		served.Cancel(nil)
		_ = served.Wait(ctx)
		return nil
	})
}

// TestNameOfConnection: the task that serves a connection has the client's address in its name, an
// IPv4 one as such.
func TestNameOfConnection(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", ":0"} {
		run(t, func(ctx context.Context) error {
			l, err := socket.Listen(ctx, "tcp", address)
			if err != nil {
				return err
			}
			var name string
			served := rondo.Go(ctx, func(ctx context.Context) error {
				return socket.Serve(ctx, l, func(ctx context.Context, c net.Conn) error {
					name = rondo.Current(ctx).Info().Name
					return c.Close()
				})
			})
			_, port, _ := net.SplitHostPort(l.Addr().String())
			c, err := socket.Dial(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
			if err != nil {
				return err
			}
			if _, err := c.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("Read: %v", err)
			}
			if want := "conn " + c.LocalAddr().String(); name != want {
				t.Errorf("on %s the task is %q, want %q", address, name, want)
			}
			c.Close()
			l.Close()
			_ = served.Wait(ctx)
			return nil
		})
	}
}

// TestOwnAddress: a connection of a listener of all addresses has the one that its peer has
// dialled, also when it is closed, and in its errors.
func TestOwnAddress(t *testing.T) {
	for _, form := range []string{"Accept", "Protocol"} {
		run(t, func(ctx context.Context) error {
			l, err := socket.Listen(ctx, "tcp", ":0")
			if err != nil {
				return err
			}
			defer l.Close()
			_, port, _ := net.SplitHostPort(l.Addr().String())
			var accepted rondo.Event
			failed := rondo.NewFuture[error](ctx)
			served := rondo.Go(ctx, func(ctx context.Context) error {
				if form == "Protocol" {
					return (&socket.Protocol{
						Connected: func(*socket.Transport) { accepted.Set() },
						Lost:      func(_ *socket.Transport, err error) { failed.Set(err) },
					}).Serve(ctx, l)
				}
				c, err := l.Accept()
				if err != nil {
					return err
				}
				accepted.Set()
				err = c.Close()
				if host, _, _ := net.SplitHostPort(c.LocalAddr().String()); host != "127.0.0.1" {
					t.Errorf("a closed connection is at %v", c.LocalAddr())
				}
				_, read := c.Read(make([]byte, 1))
				failed.Set(read)
				return err
			})
			c, err := socket.Dial(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
			if err != nil {
				return err
			}
			if err := errors.Join(accepted.Wait(ctx), c.(*socket.Conn).SetLinger(0), c.Close()); err != nil {
				return err
			}
			err, _ = failed.Wait(ctx)
			if e, ok := errors.AsType[*net.OpError](err); !ok || fmt.Sprint(e.Source) != c.RemoteAddr().String() {
				t.Errorf("%s: %v; want an error at %v", form, err, c.RemoteAddr())
			}
			served.Cancel(nil)
			_ = served.Wait(ctx)
			return nil
		})
	}
}

// TestAcceptFails: any other error ends Serve.
func TestAcceptFails(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l := listen(t, ctx)
		f := &failing{Listener: l, ctx: ctx, errs: []error{syscall.EINVAL}}
		if err := socket.Serve(ctx, f, echo); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("Serve returned %v", err)
		}
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the listener was not closed: %v", err)
		}
		return nil
	})
}
