package conformance

// Expectations of users of asyncio.shield.

import (
	"context"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestC140ShieldHolds: the body of a Shield runs to its end if the task is
// cancelled meanwhile. The next wait of the task fails.
//
// asyncio's shield returns at once, and the shielded task runs on.
func TestC140ShieldHolds(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		finished := false
		task := rondo.Go(ctx, func(ctx context.Context) error {
			err := rondo.Shield(ctx, func(ctx context.Context) error {
				finished = rondo.Sleep(ctx, time.Minute) == nil
				return nil
			})
			if err != nil {
				t.Errorf("Shield returned %v", err)
			}
			return rondo.Check(ctx)
		})
		_ = rondo.Sleep(ctx, 1)
		task.Cancel(errBroken)
		if err := task.Wait(ctx); err != errBroken || !finished {
			t.Errorf("Wait returned %v; the body ran to its end: %v", err, finished)
		}
	})
}

// TestC141CancelledInsideAShield: a scope inside a Shield can be cancelled, and
// that cancels nothing outside.
//
// asyncio's shield passes the cancellation of its inner task on.
func TestC141CancelledInsideAShield(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Shield(ctx, func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error { g.Cancel(errBroken); return forever(g) })
		})
		if err != errBroken || rondo.Check(ctx) != nil {
			t.Errorf("Shield returned %v", err)
		}
	})
}

// TestC142ErrorBehindAShieldIsReturnedOnce: an error of a Shield's body is
// returned by Shield, and is not reported to OnError besides.
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
			t.Errorf("Wait returned %v", err)
		}
		return nil
	})
	if reports != 0 {
		t.Errorf("OnError was called %d times", reports)
	}
}

// TestC220CleanUpThatWaits: each wait in a cancelled scope fails, also in its
// clean-up, except in a Shield.
func TestC220CleanUpThatWaits(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Cancel(errBroken)
			if err := rondo.Sleep(g, 1); err != errBroken {
				t.Errorf("Sleep without a Shield returned %v", err)
			}
			return rondo.Shield(g, func(ctx context.Context) error { return rondo.Sleep(ctx, 1) })
		})
		if err != errBroken {
			t.Errorf("Group returned %v", err)
		}
	})
}
