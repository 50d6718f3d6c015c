//go:build linux && (amd64 || arm64)

package inspect_test

import (
	"context"
	"slices"
	"testing"

	"github.com/rondo-go/rondo"
)

// TestRingThroughGroup: a task that holds a lock wants to leave a group, of which
// one task wants the lock.
func TestRingThroughGroup(t *testing.T) {
	r := rondo.Runner{Name: "ring"}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		var m rondo.Mutex
		if err := m.Lock(ctx); err != nil {
			return err
		}
		defer m.Unlock()
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(m.Lock)
			g.Go(func(ctx context.Context) error {
				for range 2 {
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
				if l := look(ctx, t, "ring"); len(l.Cycles) != 1 || !slices.Equal(l.Cycles[0], []uint64{1, 2}) {
					t.Errorf("cycles %v; want the first task and the second", l.Cycles)
				}
				g.Cancel(nil)
				return nil
			})
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}
