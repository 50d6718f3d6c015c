package kerneltest_test

import (
	"context"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestSemaphore: five requests, two at a time, take three seconds.
func TestSemaphore(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		s := rondo.NewSemaphore(2)
		start, running, most := rondo.Now(ctx), 0, 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 5 {
				g.Go(func(ctx context.Context) error {
					if err := s.Acquire(ctx); err != nil {
						return err
					}
					defer s.Release()
					running++
					defer func() { running-- }()
					most = max(most, running)
					return rondo.Sleep(ctx, time.Second)
				})
			}
			return nil
		})
		if took := rondo.Now(ctx).Sub(start); err != nil || most != 2 || took != 3*time.Second {
			t.Errorf("Group returned %v after %v; %d requests ran at once, want 2", err, took, most)
		}
	})
}
