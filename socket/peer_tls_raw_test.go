//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package socket_test

// A peer that leaves a connection with TLS. The portable driver does not report hang-ups.

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
