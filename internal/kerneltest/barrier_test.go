package kerneltest_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestBarrier: three workers finish each phase before any of them begins the next.
func TestBarrier(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		b := rondo.NewBarrier(3)
		var log []int
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range 3 {
				g.Go(func(ctx context.Context) error {
					for phase := range 2 {
						if err := rondo.Sleep(ctx, time.Duration(i)*time.Second); err != nil {
							return err
						}
						log = append(log, phase)
						if _, err := b.Wait(ctx); err != nil {
							return err
						}
					}
					return nil
				})
			}
			return nil
		})
		if err != nil || !slices.Equal(log, []int{0, 0, 0, 1, 1, 1}) {
			t.Errorf("Group returned %v; the phases were %v", err, log)
		}
	})
}
