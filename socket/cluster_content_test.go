package socket_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/tried"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// TestClusterContent: two runs of a seed that send other bytes of the same number are not the same.
func TestClusterContent(t *testing.T) {
	other := func() []byte { return fmt.Appendf(nil, "%08x", rand.Uint32()) }
	for want, body := range map[string]func(ctx context.Context, w *sim.World) error{
		"both times data (8) of host 1 to 2 after": func(ctx context.Context, w *sim.World) error {
			w.Host("server", func(ctx context.Context) error {
				l, err := socket.Listen(ctx, "tcp", ":1")
				if err != nil {
					return err
				}
				c, err := l.Accept()
				if err == nil {
					_, err = io.ReadFull(c, make([]byte, 8))
				}
				return err
			})
			_ = rondo.Sleep(ctx, time.Minute)
			c, err := socket.Dial(ctx, "tcp", "server:1")
			if err == nil {
				_, err = c.Write(other())
			}
			return err
		},
		"both times packet (8) of host 1 to 2 after": func(ctx context.Context, w *sim.World) error {
			h := w.Host("server", rondo.WaitCanceled)
			c, err := socket.Dial(ctx, "udp", h.Addr().String()+":1")
			if err == nil {
				_, err = c.Write(other())
			}
			return err
		},
	} {
		test, _ := tried.Run(func(t *tried.T) {
			sim.Cluster(t, func(ctx context.Context, w *sim.World) {
				if err := body(ctx, w); err != nil {
					t.Error(err)
				}
			})
		})
		if text := test.Text(); !strings.Contains(text, "is not deterministic: at event ") || !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}
