package kerneltest_test

import (
	"context"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

func TestEvent(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		var e rondo.Event
		woken := 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 2 {
				g.Go(func(ctx context.Context) error {
					err := e.Wait(ctx)
					woken++
					return err
				})
			}
			if err := rondo.Sleep(g, time.Second); err != nil {
				return err
			}
			// Set wakes both, although Clear follows at once.
			e.Set()
			e.Clear()
			return nil
		})
		if err != nil || woken != 2 || e.IsSet() {
			t.Errorf("Group returned %v; %d of 2 tasks woke", err, woken)
		}
	})
}
