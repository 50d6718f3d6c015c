package socket_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// echoHost serves port 7 of a host.
func echoHost(ctx context.Context) error {
	l, err := socket.Listen(ctx, "tcp", ":7")
	if err != nil {
		return err
	}
	return socket.Serve(ctx, l, func(_ context.Context, c net.Conn) error {
		_, err := io.Copy(c, c)
		if errors.Is(err, syscall.ECONNRESET) {
			return nil
		}
		return err
	})
}

// dialRetry dials until it succeeds.
func dialRetry(ctx context.Context, address string) (net.Conn, error) {
	for {
		c, err := socket.Dial(ctx, "tcp", address)
		if err == nil || !errors.Is(err, syscall.ECONNREFUSED) {
			return c, err
		}
		if err := rondo.Sleep(ctx, 10*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// askLine sends a line and reads one.
func askLine(c net.Conn, in *bufio.Reader, line string) (string, error) {
	if _, err := fmt.Fprintln(c, line); err != nil {
		return "", err
	}
	got, err := in.ReadString('\n')
	return strings.TrimSuffix(got, "\n"), err
}

// TestClusterEcho has hosts talk to a server by name and by address, in lines and in
// more bytes than the buffers hold.
func TestClusterEcho(t *testing.T) {
	sim.Cluster(t, func(ctx context.Context, w *sim.World) {
		server := w.Host("server", echoHost)
		heard := make([]string, 3)
		for i := range heard {
			w.Host(fmt.Sprint("client", i), func(ctx context.Context) error {
				c, err := dialRetry(ctx, []string{"server:7", server.Addr().String() + ":7"}[i%2])
				if err != nil {
					return err
				}
				defer c.Close()
				in := bufio.NewReader(c)
				for n := range 5 {
					got, err := askLine(c, in, fmt.Sprint(i, " ", n))
					if err != nil {
						return err
					}
					heard[i] += got + ";"
				}
				return nil
			})
		}
		if err := w.Eventually(ctx, 10*time.Minute, func() bool {
			return strings.Count(strings.Join(heard, ""), ";") == 15
		}); err != nil {
			t.Fatal(err, heard)
		}
		c, err := dialRetry(ctx, "server:7")
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Repeat("0123456789abcdef", 50_000)
		var back strings.Builder
		err = rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(context.Context) error {
				if _, err := io.WriteString(c, text); err != nil {
					return err
				}
				return c.(*socket.Conn).CloseWrite()
			})
			_, err := io.Copy(&back, c)
			return err
		})
		if err != nil || back.String() != text {
			t.Errorf("%d of %d bytes came back: %v", back.Len(), len(text), err)
		}
		if c.RemoteAddr().String() != server.Addr().String()+":7" {
			t.Errorf("the peer is %v", c.RemoteAddr())
		}
	})
}
