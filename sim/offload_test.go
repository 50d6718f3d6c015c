package sim_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestClockWaitsForOffload holds that the clock stands still while a function
// is offloaded, however long that takes.
func TestClockWaitsForOffload(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		start := rondo.Now(ctx)
		err := rondo.Timeout(ctx, time.Hour, func(ctx context.Context) error {
			_, err := rondo.Offload(ctx, func(ctx context.Context) (int, error) {
				ch := make(chan int)
				go func() { spin(); close(ch) }()
				<-ch
				return 1, nil
			})
			return err
		})
		if err != nil || rondo.Now(ctx) != start {
			t.Error(err, rondo.Now(ctx).Sub(start))
		}
	})
}

// spin takes a while, and another while each time.
func spin() {
	for range 1000 {
		runtime.Gosched()
	}
}

// TestOffloadIsDeterministic has functions that come back whenever they like.
func TestOffloadIsDeterministic(t *testing.T) {
	t.Setenv("RONDO_SEED", "1-200")
	for range 2 {
		sim.Test(t, func(ctx context.Context) {
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				for i := range 3 {
					g.Go(func(ctx context.Context) error {
						_, err := rondo.Offload(ctx, func(ctx context.Context) (int, error) {
							for range i {
								spin()
							}
							return 1, nil
						})
						_ = rondo.Sleep(ctx, time.Duration(i)*time.Second)
						return err
					})
					g.Go(func(ctx context.Context) error {
						for range 20 {
							_ = rondo.Yield(ctx)
						}
						return rondo.Sleep(ctx, time.Second)
					})
				}
				return nil
			})
		})
	}
}

// TestStandardCancel has a context of the standard library that a task cancels.
func TestStandardCancel(t *testing.T) {
	t.Setenv("RONDO_SEED", "1-200")
	sim.Config{Exact: true}.Test(t, func(ctx context.Context) {
		start := rondo.Now(ctx)
		std, cancel := context.WithCancel(ctx)
		defer cancel()
		rondo.Go(ctx, func(ctx context.Context) error {
			_ = rondo.Sleep(ctx, time.Second)
			cancel()
			return nil
		})
		for range 3 {
			rondo.Go(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, 2*time.Second) })
		}
		if err := rondo.Sleep(std, time.Hour); !errors.Is(err, context.Canceled) || rondo.Now(ctx).Sub(start) != time.Second {
			t.Error(err, rondo.Now(ctx).Sub(start))
		}
	})
}

// TestEndWithOffload has loops that end while functions come back.
func TestEndWithOffload(t *testing.T) {
	t.Setenv("RONDO_SEED", "1-1000")
	sim.Test(t, func(ctx context.Context) {
		for range 3 {
			rondo.Go(ctx, func(ctx context.Context) error {
				_, err := rondo.Offload(ctx, func(ctx context.Context) (int, error) {
					<-ctx.Done()
					return 1, nil
				})
				for range 3 {
					_ = rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Yield(ctx) })
				}
				return err
			})
		}
		_ = rondo.Yield(ctx)
	})
}
