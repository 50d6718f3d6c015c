package interop_test

// The test suite of golang.org/x/net for a net.Conn.

import (
	"context"
	"crypto/tls"
	"net"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/net/nettest"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// A maker makes the two ends of a connection. It runs in a task.
type maker func(t *testing.T, ctx context.Context) (a, b net.Conn, err error)

func TestConn(t *testing.T) {
	for name, m := range map[string]maker{
		"tcp":              dialled("tcp", false),
		"tcp from outside": dialled("tcp", true),
		"unix":             dialled("unix", false),
		"tls":              secured(t, dialled("tcp", false)),
		"pipe": func(_ *testing.T, ctx context.Context) (a, b net.Conn, err error) {
			a, b = socket.Pipe(ctx)
			return a, b, nil
		},
	} {
		// The suite mostly waits for its own deadlines.
		t.Run(name+" in goroutines", func(t *testing.T) {
			t.Parallel()
			nettest.TestConn(t, pipe(t, m, false))
		})
		t.Run(name+" in tasks", func(t *testing.T) {
			t.Parallel()
			nettest.TestConn(t, pipe(t, m, true))
		})
	}
}

// secured puts TLS over both ends.
func secured(t *testing.T, m maker) maker {
	own := newCertificate(t)
	return func(t *testing.T, ctx context.Context) (net.Conn, net.Conn, error) {
		a, b, err := m(t, ctx)
		if err != nil {
			return nil, nil, err
		}
		s := socket.TLSServer(ctx, a, &tls.Config{Certificates: []tls.Certificate{own.pair}})
		c := socket.TLSClient(ctx, b, &tls.Config{RootCAs: own.pool, ServerName: "127.0.0.1"})
		shaken := rondo.Go(ctx, s.HandshakeContext)
		if err := c.Handshake(); err != nil {
			return nil, nil, err
		}
		return s, c, shaken.Wait(ctx)
	}
}

// dialled connects to a listener; outside has goroutines accept and dial.
func dialled(network string, outside bool) maker {
	return func(t *testing.T, ctx context.Context) (a, b net.Conn, err error) {
		address := "127.0.0.1:0"
		if network == "unix" {
			address = filepath.Join(t.TempDir(), "s")
		}
		l, err := socket.Listen(ctx, network, address)
		if err != nil {
			return nil, nil, err
		}
		defer l.Close()
		as := func(fn func(ctx context.Context) (net.Conn, error)) func(ctx context.Context) (net.Conn, error) {
			if !outside {
				return fn
			}
			return func(within context.Context) (net.Conn, error) {
				return rondo.Offload(within, func(context.Context) (net.Conn, error) { return fn(ctx) })
			}
		}
		conns, err := rondo.Gather(ctx,
			as(func(context.Context) (net.Conn, error) { return l.Accept() }),
			as(func(ctx context.Context) (net.Conn, error) {
				return socket.Dial(ctx, network, l.Addr().String())
			}))
		if err != nil {
			return nil, nil, err
		}
		return conns[0], conns[1], nil
	}
}

// pipe returns what the suite wants: two ends. The operations of each run in tasks
// or on goroutines.
func pipe(t *testing.T, m maker, tasks bool) nettest.MakePipe {
	return func() (c1, c2 net.Conn, stop func(), err error) {
		type made struct {
			a, b net.Conn
			loop *rondo.Loop
			end  *rondo.Future[bool]
			err  error
		}
		begun := make(chan made, 1)
		ended := make(chan error, 1)
		go func() {
			ended <- rondo.Run(context.Background(), func(ctx context.Context) error {
				a, b, err := m(t, ctx)
				end := rondo.NewFuture[bool](ctx)
				begun <- made{a, b, rondo.LoopOf(ctx), end, err}
				if err != nil {
					return nil
				}
				_, err = end.Wait(ctx)
				return err
			})
		}()
		is := <-begun
		if is.err != nil {
			<-ended
			return nil, nil, nil, is.err
		}
		stop = func() {
			is.a.Close()
			is.b.Close()
			is.end.Set(true)
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if tasks {
			return inTasks{is.a, is.loop}, inTasks{is.b, is.loop}, stop, nil
		}
		return is.a, is.b, stop, nil
	}
}

// inTasks runs every operation on a connection in a task of its loop.
type inTasks struct {
	net.Conn
	loop *rondo.Loop
}

type result struct {
	n   int
	err error
}

func (c inTasks) do(op func() (int, error)) (int, error) {
	r, err := rondo.Submit(c.loop, func(context.Context) (result, error) {
		n, err := op()
		return result{n, err}, nil
	}).Wait(context.Background())
	if err != nil {
		return 0, err
	}
	return r.n, r.err
}

func (c inTasks) Read(p []byte) (int, error) {
	return c.do(func() (int, error) { return c.Conn.Read(p) })
}

func (c inTasks) Write(p []byte) (int, error) {
	return c.do(func() (int, error) { return c.Conn.Write(p) })
}

func (c inTasks) Close() error {
	_, err := c.do(func() (int, error) { return 0, c.Conn.Close() })
	return err
}

func (c inTasks) SetDeadline(t time.Time) error {
	_, err := c.do(func() (int, error) { return 0, c.Conn.SetDeadline(t) })
	return err
}

func (c inTasks) SetReadDeadline(t time.Time) error {
	_, err := c.do(func() (int, error) { return 0, c.Conn.SetReadDeadline(t) })
	return err
}

func (c inTasks) SetWriteDeadline(t time.Time) error {
	_, err := c.do(func() (int, error) { return 0, c.Conn.SetWriteDeadline(t) })
	return err
}
