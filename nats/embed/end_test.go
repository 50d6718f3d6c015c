package embed_test

import (
	"context"
	"testing"
	"time"
	"weak"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/nats"
	"github.com/rondo-go/rondo/nats/embed"
)

// TestServeEnds: when the scope of a Serve has ended, the connection keeps nothing of it.
func TestServeEnds(t *testing.T) {
	run(t, server.Options{}, func(g *rondo.Scope, url string) error {
		c := connect(t, g, url)
		kept := new([1 << 20]byte)
		left := weak.Make(kept)
		err := rondo.Group(g, func(g *rondo.Scope) error {
			held := kept // the function has it, and not the variable
			fn := func(context.Context, int) (int, error) { return int(held[0]), nil }
			if err := nats.Serve(g, c, "kept", 1, fn); err != nil {
				return err
			}
			g.Cancel(nil)
			return nil
		})
		if err != nil {
			return err
		}
		kept = nil
		if err := c.Flush(g); err != nil {
			return err
		}
		if !leak.Collected(func() bool { return left.Value() == nil }) {
			t.Error("the function is still there")
		}
		return nil
	})
}

// TestCloseWithoutCallback: a connection whose options keep the client from calling
// ClosedCB ends, although more was published than the client can keep.
func TestCloseWithoutCallback(t *testing.T) {
	watchdog := time.AfterFunc(30*time.Second, func() { panic("it hangs") })
	defer watchdog.Stop()
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			var c *nats.Conn
			err := rondo.Group(g, func(inner *rondo.Scope) error {
				s, err := embed.Start(inner, local(server.Options{}))
				if err != nil {
					return err
				}
				c, err = nats.Connect(g, s.ClientURL(), natsgo.NoCallbacksAfterClientClose(),
					natsgo.ReconnectBufSize(1000), natsgo.DrainTimeout(10*time.Millisecond))
				return err
			})
			if err != nil {
				return err
			}
			for range 100 {
				if err := c.Publish(g, "x", make([]byte, 100)); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
}

// TestFlushAtEnd: a Flush of a task outside of the connection's scope ends with the
// connection.
func TestFlushAtEnd(t *testing.T) {
	watchdog := time.AfterFunc(30*time.Second, func() { panic("it hangs") })
	defer watchdog.Stop()
	run(t, server.Options{}, func(outer *rondo.Scope, url string) error {
		for range 30 {
			flushes := make([]*rondo.Task, 3)
			err := rondo.Group(outer, func(g *rondo.Scope) error {
				c := connect(t, g, url)
				for i := range flushes {
					flushes[i] = outer.Go(func(ctx context.Context) error {
						for c.Flush(ctx) == nil {
						}
						return nil
					})
				}
				return rondo.Sleep(g, time.Millisecond)
			})
			if err != nil {
				return err
			}
			for _, f := range flushes {
				if err := f.Wait(outer); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
