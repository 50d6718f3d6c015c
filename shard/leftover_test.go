package shard

import (
	"context"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// A foreign context is of a type that package context does not know: it watches its end by a
// goroutine, which main_test.go would find.
type foreign struct {
	context.Context
	done chan struct{}
}

func (f foreign) Done() <-chan struct{} { return f.done }

// TestNothingOfShardsStays: when Run has returned, also in a simulation, no shard is known, and
// nothing counts as a step of a simulation.
func TestNothingOfShardsStays(t *testing.T) {
	main := func(context.Context, *Shard) error { return nil }
	if err := Run(foreign{t.Context(), make(chan struct{})}, main); err != nil {
		t.Error(err)
	}
	sim.Config{Seeds: 3}.Cluster(t, func(ctx context.Context, w *sim.World) {
		h := w.Host("a", func(ctx context.Context) error { return (&Runner{Loops: 2}).Run(ctx, main) })
		crashed := w.Host("b", func(ctx context.Context) error {
			return (&Runner{Loops: 2}).Run(ctx, func(ctx context.Context, _ *Shard) error { return rondo.WaitCanceled(ctx) })
		})
		_ = rondo.Sleep(ctx, time.Second)
		crashed.Crash()
		if err := w.Eventually(ctx, time.Minute, func() bool { return !h.Up() }); err != nil {
			t.Error(err)
		}
	})
	if n := simulations.Load(); n != 0 {
		t.Errorf("%d simulations go on", n)
	}
	byLoop.Range(func(_, s any) bool {
		t.Error("a shard is left:", s)
		return true
	})
}
