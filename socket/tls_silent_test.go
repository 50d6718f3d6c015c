package socket_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// TestSilentClient: a client that never starts the handshake delays nobody else,
// also with a tls.Conn whose handler has a task that reads and one that writes.
func TestSilentClient(t *testing.T) {
	server, client := certificate(t)
	run(t, func(ctx context.Context) error {
		l := listen(t, ctx)
		s := &socket.Server{OnError: func(net.Conn, error) {}, Handler: func(ctx context.Context, c net.Conn) error {
			return both(ctx,
				func(context.Context) error { _, err := io.ReadFull(c, make([]byte, 5)); return err },
				func(context.Context) error { _, err := io.WriteString(c, "hello"); return err })
		}}
		served := rondo.Go(ctx, func(ctx context.Context) error {
			_ = s.Serve(ctx, tls.NewListener(l, server)) // ErrServerClosed
			return nil
		})
		silent, err := socket.Dial(ctx, "tcp", l.Addr().String())
		if err != nil {
			return err
		}
		defer silent.Close()
		for s.Conns() == 0 {
			if err := rondo.Sleep(ctx, 50*time.Microsecond); err != nil {
				return err
			}
		}
		c, err := socket.DialTLS(ctx, "tcp", l.Addr().String(), client)
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := io.WriteString(c, "hello"); err != nil {
			return err
		}
		got := make([]byte, 5)
		if _, err := io.ReadFull(c, got); err != nil || string(got) != "hello" {
			t.Errorf("%q, %v", got, err)
		}
		silent.Close()
		if err := s.Shutdown(ctx); err != nil {
			return err
		}
		return served.Wait(ctx)
	})
}
