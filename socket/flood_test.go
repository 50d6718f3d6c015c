//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package socket_test

import (
	"context"
	"sync"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// TestPingBesideFlood: a stream that is always ready, sent by a goroutine, does
// not prevent the answer to a ping. Where the loop has no descriptors, the
// runtime decides when a goroutine sees a ping.
func TestPingBesideFlood(t *testing.T) {
	run(t, func(ctx context.Context) error {
		in, out := pair(t, ctx)
		ping, pong := pair(t, ctx)
		for _, c := range []*socket.Conn{in, out, ping, pong} {
			defer c.Close()
		}
		var flood sync.WaitGroup
		flood.Go(func() {
			for p := make([]byte, 64<<10); ; {
				if _, err := out.Write(p); err != nil {
					return
				}
			}
		})
		reads, most := 0, 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				for p := make([]byte, 100); ; reads++ {
					if _, err := in.Read(p); err != nil {
						return nil
					}
				}
			})
			g.Go(func(ctx context.Context) error { return echo(ctx, pong) })
			for reads < 1000 {
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
			}
			p := make([]byte, 1)
			for range 300 {
				before := reads
				if _, err := ping.Write(p); err != nil {
					return err
				}
				if _, err := ping.Read(p); err != nil {
					return err
				}
				most = max(most, reads-before)
			}
			ping.CloseWrite()
			return in.Close()
		})
		out.Close()
		flood.Wait()
		// 16 reads a turn. The loop polls the driver every 64 steps; the stream
		// takes nearly all of them when nothing else can run. A ping needs two
		// polls.
		if most > 16*64*4 {
			t.Errorf("the stream moved %d times during one ping", most)
		}
		return err
	})
}
