package socket_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// TestSession: the usual session, one line in, one line out.
func TestSession(t *testing.T) {
	run(t, func(ctx context.Context) error {
		ended := 0
		s := &socket.Server{
			Session: func(c net.Conn) func(ctx context.Context) error {
				r := bufio.NewReader(c)
				lines := 0
				return func(ctx context.Context) error {
					line, err := r.ReadString('\n')
					if err != nil {
						ended++
						return err
					}
					lines++
					_, err = fmt.Fprintf(c, "%d %s", lines, line)
					return err
				}
			},
			OnError: func(_ net.Conn, err error) { t.Errorf("reported: %v", err) },
		}
		addr, served, err := start(ctx, s)
		if err != nil {
			return err
		}
		c, err := connected(ctx, s, addr)
		if err != nil {
			return err
		}
		r := bufio.NewReader(c)
		for i := range 3 {
			fmt.Fprintf(c, "hello\n")
			line, err := r.ReadString('\n')
			if want := fmt.Sprintf("%d hello\n", i+1); err != nil || line != want {
				t.Errorf("got %q, %v, want %q", line, err, want)
			}
			waiting(ctx, "idle sessions", 1)
		}
		c.Close()
		for s.Conns() > 0 {
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
		}
		if ended != 1 {
			t.Errorf("%d calls found the end of the stream", ended)
		}
		if err := s.Shutdown(ctx); err != nil {
			return err
		}
		if err := served.Wait(ctx); err != socket.ErrServerClosed {
			t.Error(err)
		}
		_ = io.EOF
		return nil
	})
}
