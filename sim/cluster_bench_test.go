package sim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// BenchmarkSeed is the cost of a seed: of a cluster whose hosts do nothing, with so many
// besides the one of the test.
func BenchmarkSeed(b *testing.B) {
	const repeated = 20 // so many seeds run twice and are recorded, and cost more
	for _, hosts := range []int{0, 4, 40} {
		b.Run(fmt.Sprintf("hosts=%d", hosts), func(b *testing.B) {
			b.ReportAllocs()
			runs := 0
			c := sim.Config{Seeds: repeated + b.N, SeedsShort: repeated + b.N, Exact: true}
			c.Cluster(b, func(ctx context.Context, w *sim.World) {
				if runs++; runs == 2*repeated+1 {
					b.ResetTimer()
				}
				for i := range hosts {
					w.Host(fmt.Sprint(i), func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
				}
				_ = rondo.Sleep(ctx, time.Second) // all have booted by then
			})
		})
	}
}
