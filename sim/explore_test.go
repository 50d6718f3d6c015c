package sim_test

import (
	"context"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestExploreIsExhaustive counts the orders of bodies for which arithmetic knows
// the number, and holds that none comes twice.
func TestExploreIsExhaustive(t *testing.T) {
	for _, c := range []struct{ tasks, turns, want int }{
		{1, 1, 1}, {1, 5, 1}, {2, 1, 2}, {2, 3, 8}, {3, 1, 6}, {3, 3, 216}, {4, 1, 24}, {4, 2, 576}, {5, 1, 120},
	} {
		seen, runs := map[string]bool{}, 0
		sim.Explore(t, func(ctx context.Context) {
			runs++
			var order []byte
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				for i := range c.tasks {
					g.Go(func(ctx context.Context) error {
						for turn := range c.turns {
							if turn > 0 {
								_ = rondo.Yield(ctx)
							}
							order = append(order, byte('a'+i))
						}
						return nil
					})
				}
				return nil
			})
			seen[string(order)] = true
		})
		if runs != c.want || len(seen) != c.want {
			t.Errorf("%d tasks of %d turns: %d runs, %d orders, want %d", c.tasks, c.turns, runs, len(seen), c.want)
		}
	}
}

func TestExploreGivesUp(t *testing.T) {
	runs := 0
	text := failing(t, func(t *tester) {
		sim.Config{MaxOrders: 1000}.Explore(t, func(ctx context.Context) {
			runs++
			shuffle(ctx, 9)
		})
	})
	if runs != 1000 {
		t.Error(runs, "runs")
	}
	contains(t, text, "sim: there are more than 1000 orders: ")
}

func BenchmarkExplore(b *testing.B) {
	runs := 0
	for b.Loop() {
		sim.Explore(b, func(ctx context.Context) {
			runs++
			shuffle(ctx, 5)
		})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(runs), "ns/run")
}
