package kerneltest_test

import (
	"context"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// TestRWMutex: three readers hold the lock together for a second, and a writer
// holds it alone for another.
func TestRWMutex(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		var m rondo.RWMutex
		start, readers := rondo.Now(ctx), 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 3 {
				g.Go(func(ctx context.Context) error {
					if err := m.RLock(ctx); err != nil {
						return err
					}
					defer m.RUnlock()
					readers++
					defer func() { readers-- }()
					return rondo.Sleep(ctx, time.Second)
				})
			}
			// The writer waits for the readers, or they wait for it.
			g.Go(func(ctx context.Context) error {
				if err := m.Lock(ctx); err != nil {
					return err
				}
				defer m.Unlock()
				err := rondo.Sleep(ctx, time.Second)
				if readers != 0 {
					t.Errorf("%d readers hold the lock beside the writer", readers)
				}
				return err
			})
			return nil
		})
		if took := rondo.Now(ctx).Sub(start); err != nil || took < 2*time.Second || took > 3*time.Second {
			t.Errorf("Group returned %v after %v", err, took)
		}
	})
}
