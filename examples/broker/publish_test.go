package main

import (
	"context"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// TestOnlyTheDeafIsDisconnected has a publisher wait for two subscribers whose queues are
// full. One reads soon, the other never: only that one is disconnected.
func TestOnlyTheDeafIsDisconnected(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		b := newBroker(time.Second)
		subscriber := func() *client {
			conn, _ := socket.Pipe(ctx)
			c := &client{conn, rondo.NewQueue[string](1), make(map[string]bool)}
			b.answer(ctx, c, "SUB a")
			c.lines.TryPut("OK")
			return c
		}
		deaf, good := subscriber(), subscriber()
		var got []string
		reader := rondo.Go(ctx, func(ctx context.Context) error {
			for {
				if err := rondo.Sleep(ctx, 100*time.Millisecond); err != nil {
					return err
				}
				line, err := good.lines.Get(ctx)
				if err != nil {
					return err
				}
				got = append(got, line)
			}
		})
		if n := b.publish(ctx, "a", "text"); n != 1 {
			t.Errorf("%d subscribers got it", n)
		}
		_ = rondo.Sleep(ctx, time.Second)
		if len(got) != 2 || got[1] != "MSG a text" || reader.Done() {
			t.Errorf("the one that reads got %q", got)
		}
		if err := deaf.lines.Put(ctx, ""); err != rondo.ErrQueueClosed {
			t.Errorf("the deaf one is still there: %v", err)
		}
	})
}
