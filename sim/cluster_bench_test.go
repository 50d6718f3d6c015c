package sim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// BenchmarkSeed is the cost of a seed: of a cluster that does nothing, with so many
// hosts besides the one of the test.
func BenchmarkSeed(b *testing.B) {
	for _, hosts := range []int{0, 4} {
		b.Run(fmt.Sprint(hosts), func(b *testing.B) {
			c := sim.Config{Seeds: b.N + 20, Exact: true}
			c.Cluster(b, func(ctx context.Context, w *sim.World) {
				for i := range hosts {
					w.Host(fmt.Sprint(i), func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
				}
				_ = rondo.Yield(ctx)
			})
		})
	}
}
