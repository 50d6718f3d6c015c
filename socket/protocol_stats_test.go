package socket_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// TestProtocolStats: the counters of a Protocol are those of all of its calls of Serve, also when
// one of them has ended.
func TestProtocolStats(t *testing.T) {
	run(t, func(ctx context.Context) error {
		p := new(socket.Protocol)
		var listeners []net.Listener
		var serving []*rondo.Task
		for i := range 2 {
			l := listen(t, ctx)
			listeners = append(listeners, l)
			serving = append(serving, rondo.Go(ctx, func(ctx context.Context) error { return p.Serve(ctx, l) }))
			for range 2 - i { // two connections and one
				c, err := socket.Dial(ctx, "tcp", l.Addr().String())
				if err != nil {
					return err
				}
				defer c.Close()
			}
		}
		if err := until(ctx, func() bool { return p.Stats() == socket.Stats{Accepted: 3, Open: 3} }); err != nil {
			return err
		}
		for i, want := range []socket.Stats{{Accepted: 3, Open: 1}, {Accepted: 3}} {
			listeners[i].Close()
			if err := serving[i].Wait(ctx); !errors.Is(err, net.ErrClosed) {
				t.Errorf("Serve: %v", err)
			}
			if s := p.Stats(); s != want {
				t.Errorf("%d calls of Serve have ended: %+v, want %+v", i+1, s, want)
			}
		}
		return nil
	})
}

// TestAttachElsewhere: Attach panics on a goroutine that is not on the loop.
func TestAttachElsewhere(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, _ := pair(t, ctx)
		return rondo.OffloadFunc(ctx, func(context.Context) error {
			panics(t, "rondo: socket.Protocol.Attach from a goroutine that is not on the loop", func() {
				_, _ = new(socket.Protocol).Attach(ctx, a)
			})
			return nil
		})
	})
}
