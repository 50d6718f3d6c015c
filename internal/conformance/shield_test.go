package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

func TestC140ShieldHolds(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		finished := false
		task := rondo.Go(ctx, func(ctx context.Context) error {
			err := rondo.Shield(ctx, func(ctx context.Context) error {
				finished = rondo.Sleep(ctx, time.Minute) == nil
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			return rondo.Check(ctx)
		})
		_ = rondo.Sleep(ctx, 1)
		task.Cancel(errBroken)
		if err := task.Wait(ctx); err != errBroken || !finished {
			t.Error(err, finished)
		}
	})
}

func TestC141CancelledInsideAShield(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Shield(ctx, func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error { g.Cancel(errBroken); return forever(g) })
		})
		if err != errBroken || rondo.Check(ctx) != nil {
			t.Error(err)
		}
	})
}

// The error of a shielded body is returned to the one who has it, and so is never
// reported besides.
func TestC142ErrorBehindAShieldIsReturnedOnce(t *testing.T) {
	reports := 0
	r := rondo.Runner{OnError: func(rondo.TaskInfo, error) { reports++ }}
	_ = r.Run(t.Context(), func(ctx context.Context) error {
		task := rondo.Go(ctx, func(ctx context.Context) error {
			return rondo.Shield(ctx, func(ctx context.Context) error { _ = rondo.Yield(ctx); _ = rondo.Yield(ctx); return errBroken })
		})
		_ = rondo.Yield(ctx)
		task.Cancel(nil)
		if err := task.Wait(ctx); err != errBroken {
			t.Error(err)
		}
		return nil
	})
	if reports != 0 {
		t.Errorf("%d reports", reports)
	}
}

func TestC220CleanUpThatWaits(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Cancel(errBroken)
			if err := rondo.Sleep(g, 1); err != errBroken {
				t.Errorf("clean-up without a Shield: %v", err)
			}
			return rondo.Shield(g, func(ctx context.Context) error { return rondo.Sleep(ctx, 1) })
		})
		if err != errBroken {
			t.Error(err)
		}
	})
}
