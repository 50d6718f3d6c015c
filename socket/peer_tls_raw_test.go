//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package socket_test

// Peers of TLS: one that leaves, and one that is owed an answer. The portable driver does not
// report hang-ups, and cannot send without a wait.

import (
	"context"
	"io"
	"net"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// TestPeerLeavesTLS: the alert with which TLS ends is not taken for data.
func TestPeerLeavesTLS(t *testing.T) {
	config, client := certificate(t)
	for _, form := range []string{"Handler", "Session"} {
		run(t, func(ctx context.Context) error {
			l := listen(t, ctx)
			ended := rondo.NewFuture[error](ctx)
			handler := func(ctx context.Context, c net.Conn) error {
				if err := request(c); err != nil {
					return err
				}
				err := rondo.WaitCanceled(ctx)
				ended.Set(err)
				return err
			}
			s := &socket.Server{Handler: handler}
			if form == "Session" {
				s = &socket.Server{Session: func(c net.Conn) func(ctx context.Context) error {
					return func(ctx context.Context) error { return handler(ctx, c) }
				}}
			}
			rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, socket.NewTLSListener(ctx, l, config)) })
			c, err := socket.DialTLS(ctx, "tcp", l.Addr().String(), client)
			if err != nil {
				return err
			}
			if _, err := io.WriteString(c, "req"); err != nil {
				return err
			}
			if err := c.Close(); err != nil {
				return err
			}
			if cause, err := ended.Wait(ctx); cause != socket.ErrPeerClosed || err != nil {
				t.Errorf("%s: the handler ended with %v, %v", form, cause, err)
			}
			return s.Shutdown(ctx)
		})
	}
}

// TestTLSReaderAnswers: while nobody writes, the answer that TLS owes the peer is sent by the task
// that reads.
func TestTLSReaderAnswers(t *testing.T) {
	server, client := certificate(t)
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		c := socket.TLSClient(ctx, b, client)
		r := record(t, ctx, a, server, c)
		if _, err := r.Write(r.update()); err != nil {
			return err
		}
		reader := rondo.Go(ctx, func(context.Context) error {
			if n, err := c.Read(make([]byte, 10)); err == nil {
				t.Errorf("read %d", n)
			}
			return nil
		})
		if kind, _, err := r.open(); kind != recordHandshake {
			t.Errorf("answered with %d, %v", kind, err)
		}
		reader.Cancel(nil)
		return c.Close()
	})
}
