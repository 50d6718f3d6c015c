package socket_test

import (
	"context"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// TestProtocolBlockedIsIdle: a Transport whose peer does not read waits for the system to
// say that it may send, and does not try again and again.
func TestProtocolBlockedIsIdle(t *testing.T) {
	run(t, func(ctx context.Context) error {
		tr, _ := attached(t, ctx, new(socket.Protocol))
		defer tr.Abort()
		for tr.Buffered() == 0 {
			if _, err := tr.Write(make([]byte, 1<<20)); err != nil {
				return err
			}
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
		}
		if err := rondo.Sleep(ctx, 10*time.Millisecond); err != nil { // until it has noticed
			return err
		}
		before := rondo.LoopOf(ctx).Stats().Turns
		if err := rondo.Sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
		if n := rondo.LoopOf(ctx).Stats().Turns - before; n > 20 {
			t.Errorf("%d turns of the loop while nothing could be sent", n)
		}
		return nil
	})
}
