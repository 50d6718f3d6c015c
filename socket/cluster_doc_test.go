package socket_test

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// TestClusterDocument is the first program of docs/CLUSTERS.md.
func TestClusterDocument(t *testing.T) {
	sim.Cluster(t, func(ctx context.Context, w *sim.World) {
		w.Host("server", func(ctx context.Context) error {
			l, err := socket.Listen(ctx, "tcp", ":7777")
			if err != nil {
				return err
			}
			return socket.Serve(ctx, l, func(_ context.Context, c net.Conn) error {
				_, err := io.Copy(c, c)
				return err
			})
		})
		_ = rondo.Sleep(ctx, time.Minute) // it is up by then
		c, err := socket.Dial(ctx, "tcp", "server:7777")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, "hello"); err != nil {
			t.Error(err)
		}
		if _, err := io.ReadFull(c, make([]byte, 5)); err != nil {
			t.Error(err)
		}
	})
}
