package sim_test

import (
	"context"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

func TestClockJumps(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		start := rondo.Now(ctx)
		if err := rondo.Sleep(ctx, 1000*time.Hour); err != nil {
			t.Error(err)
		}
		if d := rondo.Now(ctx).Sub(start); d != 1000*time.Hour {
			t.Error(d)
		}
	})
}

func BenchmarkExplore(b *testing.B) {
	runs := 0
	for b.Loop() {
		sim.Explore(b, func(ctx context.Context) {
			runs++
			rondo.Group(ctx, func(g *rondo.Scope) error {
				for range 3 {
					g.Go(func(ctx context.Context) error {
						rondo.Yield(ctx)
						rondo.Yield(ctx)
						return nil
					})
				}
				return nil
			})
		})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(runs), "ns/run")
}
