package shard_test

import (
	"context"
	"slices"
	"testing"

	"github.com/rondo-go/rondo/shard"
	"github.com/rondo-go/rondo/sim"
)

// TestValuesInOrder: values of a Chan between two simulated shards come as they were sent, with
// every seed.
func TestValuesInOrder(t *testing.T) {
	sim.Config{Seeds: 60, SeedsShort: 20}.Cluster(t, func(ctx context.Context, w *sim.World) {
		var got []int
		values := shard.NewChan[int](2)
		r := shard.Runner{Loops: 2}
		err := r.Run(ctx, func(ctx context.Context, s *shard.Shard) error {
			if s.Index() == 0 {
				defer values.Close()
				for i := range 20 {
					if err := values.Send(ctx, i); err != nil {
						return err
					}
				}
				return nil
			}
			for v := range values.All(ctx) {
				got = append(got, v)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if len(got) != 20 || !slices.IsSorted(got) {
			t.Errorf("they came in the order %v", got)
		}
	})
}
