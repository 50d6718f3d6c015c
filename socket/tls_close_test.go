package socket_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// TestTLSClose: Close ends waits on the connection, from a task and from a
// goroutine, and does not wait for a blocked Write.
func TestTLSClose(t *testing.T) {
	for _, goroutine := range []bool{false, true} {
		run(t, func(ctx context.Context) error {
			a, b := tlsPair(t, ctx)
			if err := both(ctx, a.HandshakeContext, b.HandshakeContext); err != nil {
				return err
			}
			var read, wrote error
			err := both(ctx, func(context.Context) error {
				_, read = b.Read(make([]byte, 1))
				return nil
			}, func(context.Context) error {
				_, wrote = b.Write(longText(12 << 20))
				return nil
			}, func(ctx context.Context) error {
				waiting(ctx, "read", 1)
				waiting(ctx, "write", 1)
				if goroutine {
					return outside(ctx, b.Close)
				}
				return b.Close()
			})
			if !errors.Is(read, net.ErrClosed) || !errors.Is(wrote, net.ErrClosed) || err != nil {
				t.Errorf("Read %v, Write %v, Close %v", read, wrote, err)
			}
			if n, err := b.Write([]byte("x")); n != 0 || !errors.Is(err, net.ErrClosed) || b.Close() != net.ErrClosed {
				t.Errorf("Write after Close: %d, %v", n, err)
			}
			return a.Close()
		})
	}
}

// TestTLSReadAfterClose: what was received and not read when the connection is closed is not read
// afterwards.
func TestTLSReadAfterClose(t *testing.T) {
	run(t, func(ctx context.Context) error {
		x, y := pair(t, ctx)
		a, b := rondoTLS.secured(t, ctx, x, y)
		if _, err := a.Write([]byte("hello")); err != nil {
			return err
		}
		if err := errors.Join(readOne(b), b.Close()); err != nil {
			return err
		}
		if n, err := b.Read(make([]byte, 10)); n != 0 || !errors.Is(err, net.ErrClosed) {
			t.Errorf("read %d, %v", n, err)
		}
		return a.Close()
	})
}

// TestTLSFarewell: Close waits up to five seconds for a peer that does not read
// close_notify, and then closes the connection all the same.
func TestTLSFarewell(t *testing.T) {
	server, client := certificate(t)
	sim.Config{Exact: true}.Test(t, func(ctx context.Context) {
		x, y := socket.Pipe(ctx)
		a, b := socket.TLSServer(ctx, x, server), socket.TLSClient(ctx, y, client)
		// The tickets of a server are read by who reads what comes after them.
		if err := both(ctx, a.HandshakeContext, func(context.Context) error { return errors.Join(b.Handshake(), readOne(b)) },
			func(context.Context) error { _, err := a.Write([]byte("x")); return err }); err != nil {
			t.Error(err)
		}
		for _, end := range []func() error{a.CloseWrite, a.Close} {
			start := rondo.Now(ctx)
			err := end()
			timedOut(t, "the end", err)
			if took := rondo.Now(ctx).Sub(start); took != 5*time.Second {
				t.Errorf("it took %v", took)
			}
		}
		if _, err := b.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the peer: %v", err)
		}
		b.Close()
	})
}

// alerts counts the alerts that come, which TLS 1.2 shows.
type alerts struct {
	net.Conn
	n int
}

func (c *alerts) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && p[0] == recordAlert {
		c.n++
	}
	return n, err
}

// TestServerClosesTLS: a client gets close_notify, also if the function that has served it has left
// a task, which its end has cancelled. When Serve is cancelled nobody waits for a client that does
// not read.
func TestServerClosesTLS(t *testing.T) {
	config, user := certificate(t)
	config.SessionTicketsDisabled = true // nobody reads them
	user.MaxVersion = tls.VersionTLS12
	exchange := func(ctx context.Context, c net.Conn) error {
		rondo.Go(ctx, rondo.WaitCanceled)
		_ = readOne(c)
		return io.EOF
	}
	for form, s := range map[string]*socket.Server{
		"Handler": {Handler: exchange},
		"Session": {Session: func(c net.Conn) func(ctx context.Context) error {
			return func(ctx context.Context) error { return exchange(ctx, c) }
		}},
	} {
		sim.Config{Exact: true, Seeds: 3}.Test(t, func(ctx context.Context) {
			s := &socket.Server{Handler: s.Handler, Session: s.Session}
			l := &pipes{queue: rondo.NewQueue[net.Conn](2), wrap: func(c net.Conn) net.Conn { return socket.TLSServer(ctx, c, config) }}
			served := rondo.Go(ctx, func(ctx context.Context) error {
				l.ctx = ctx
				return s.Serve(ctx, l)
			})
			var wires [2]*alerts
			var clients [2]*socket.TLSConn
			for i := range clients {
				here, there := socket.Pipe(ctx)
				l.queue.TryPut(there)
				wires[i] = &alerts{Conn: here}
				clients[i] = socket.TLSClient(ctx, wires[i], user)
				if err := clients[i].Handshake(); err != nil {
					t.Error(err)
				}
			}
			if _, err := clients[0].Write([]byte("x")); err != nil {
				t.Error(err)
			}
			if _, err := io.ReadAll(clients[0]); err != nil || wires[0].n != 1 {
				t.Errorf("%s: the end is %v, after %d alerts", form, err, wires[0].n)
			}
			start := rondo.Now(ctx)
			served.Cancel(nil)
			_ = served.Wait(ctx)
			if took := rondo.Now(ctx).Sub(start); took != 0 {
				t.Errorf("%s: Serve ended %v after it was cancelled", form, took)
			}
			for _, wire := range wires {
				wire.Close()
			}
		})
	}
}

// TestTLSCloseInCallback: Close in a callback closes without waiting.
func TestTLSCloseInCallback(t *testing.T) {
	run(t, func(ctx context.Context) error {
		x, y := pair(t, ctx)
		_, b := rondoTLS.secured(t, ctx, x, y)
		reader := rondo.Go(ctx, func(context.Context) error { _, err := b.Read(make([]byte, 1)); return err })
		waiting(ctx, "read", 1)
		var closed error
		rondo.LoopOf(ctx).CallSoon(func() { closed = b.Close() })
		if err := reader.Wait(ctx); !errors.Is(err, net.ErrClosed) || closed != nil {
			t.Errorf("Read %v, Close %v", err, closed)
		}
		if n, err := b.Write([]byte("x")); n != 0 || err != net.ErrClosed {
			t.Errorf("Write after Close: %d, %v", n, err)
		}
		return nil
	})
}

func readOne(c net.Conn) error { _, err := io.ReadFull(c, make([]byte, 1)); return err }
