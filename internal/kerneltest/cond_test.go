package kerneltest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// TestCondAtTheDeadline: a deadline that passes while a task that was woken waits for
// its lock has ended nothing.
func TestCondAtTheDeadline(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		c := rondo.Cond{L: new(rondo.Mutex)}
		rondo.Go(ctx, func(ctx context.Context) error {
			if err := errors.Join(rondo.Sleep(ctx, time.Second), c.L.Lock(ctx)); err != nil {
				return err
			}
			defer c.L.Unlock()
			c.Signal()
			return rondo.Sleep(ctx, 2*time.Second)
		})
		err := rondo.Timeout(ctx, 2*time.Second, func(ctx context.Context) error {
			if err := c.L.Lock(ctx); err != nil {
				return err
			}
			defer c.L.Unlock()
			if err := c.Wait(ctx); err != nil || ctx.Err() == nil {
				t.Errorf("Wait returned %v; the ctx has %v", err, ctx.Err())
			}
			return nil
		})
		if err != nil {
			t.Errorf("Timeout returned %v", err)
		}
	})
}

func TestCondMisuse(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var mu rondo.Mutex
		panics(t, "Cond.Wait without L", func() { _ = new(rondo.Cond).Wait(ctx) })
		panics(t, "Cond.Wait with L unlocked", func() { _ = (&rondo.Cond{L: &mu}).Wait(ctx) })
		if !mu.TryLock() {
			t.Error("Wait has kept L")
		}
		return nil
	})
}

// TestCondCancelledFromTheStart: Wait in a cancelled scope fails and does not
// unlock L in between.
func TestCondCancelledFromTheStart(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var mu rondo.Mutex
		_ = mu.TryLock()
		c := rondo.Cond{L: &mu}
		entered := false
		other := rondo.Go(ctx, func(ctx context.Context) error {
			err := mu.Lock(ctx)
			entered = true
			return err
		})
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Cancel(errStop)
			if err := c.Wait(g); err != errStop || entered {
				t.Errorf("Wait returned %v; another task got L: %v", err, entered)
			}
			return nil
		})
		if err != errStop {
			t.Errorf("Group returned %v", err)
		}
		mu.Unlock()
		return other.Wait(ctx)
	})
}

// TestWaitWithoutItsLock: in a deadlock Wait panics, and as soon as L is free again with L, so no
// deferred Unlock unlocks what another task has locked.
func TestWaitWithoutItsLock(t *testing.T) {
	var got any
	var stolen any
	err := ending.Run(context.Background(), func(ctx context.Context) error {
		c := rondo.Cond{L: new(rondo.Mutex)}
		rondo.Go(ctx, func(ctx context.Context) error {
			defer func() { got = recover() }()
			_ = c.L.Lock(ctx)
			defer c.L.Unlock()
			_ = c.Wait(ctx)
			t.Error("Wait returned without L")
			return nil
		})
		rondo.Go(ctx, func(ctx context.Context) error {
			_ = rondo.Yield(ctx)
			_ = c.L.Lock(ctx)
			c.Signal()
			_ = rondo.Shield(ctx, forever)
			defer func() { stolen = recover() }()
			c.L.Unlock()
			return nil
		})
		return forever(ctx)
	})
	if !errors.Is(err, rondo.ErrDeadlock) || !strings.Contains(fmt.Sprint(got), "Cond.Wait cannot lock L again") || stolen != nil {
		t.Errorf("Run returned %v; Wait panicked with %v, the holder's Unlock with %v", err, got, stolen)
	}
}
