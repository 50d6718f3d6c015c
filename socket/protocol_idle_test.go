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
		for {
			if tr.Buffered() == 0 {
				if _, err := tr.Write(make([]byte, 16<<20)); err != nil {
					return err
				}
			}
			left, before := tr.Buffered(), rondo.LoopOf(ctx).Stats().Turns
			if err := rondo.Sleep(ctx, 50*time.Millisecond); err != nil {
				return err
			}
			if left == 0 || tr.Buffered() != left {
				continue // the system has taken something
			}
			if n := rondo.LoopOf(ctx).Stats().Turns - before; n > 20 {
				t.Errorf("%d turns of the loop while nothing could be sent", n)
			}
			return nil
		}
	})
}
