package sim

// A task may lose its turn at any operation. These programs check something, call an operation
// that need not wait, and then wait for what they have checked.

import (
	"context"
	"testing"

	"github.com/rondo-go/rondo"
)

var checkedTooEarly = []bug{
	{"an answer that came before the wait", 60, func(ctx context.Context, fixed bool) {
		var list rondo.WaitList
		answered, asked := false, rondo.Event{}
		tasks(ctx, func(ctx context.Context) {
			asked.Set()
			if !answered {
				if !fixed {
					_ = rondo.Checkpoint(ctx)
				}
				_ = list.Park(ctx, rondo.Reason{What: "answer"})
			}
		}, func(ctx context.Context) {
			_ = asked.Wait(ctx)
			answered = true
			list.Wake()
		})
	}},
	{"the last value taken by another", 60, func(ctx context.Context, fixed bool) {
		var values, log rondo.Queue[int]
		_ = values.Put(ctx, 1)
		take := func(ctx context.Context) {
			if fixed {
				_, _ = values.TryGet()
				return
			}
			if values.Len() > 0 {
				_ = log.Put(ctx, values.Len())
				_, _ = values.Get(ctx)
			}
		}
		tasks(ctx, take, take)
	}},
	{"a connection made twice", 60, func(ctx context.Context, fixed bool) {
		var config rondo.Event
		config.Set()
		open, free := false, rondo.NewSemaphore(1)
		connect := func(ctx context.Context) {
			if fixed {
				_ = config.Wait(ctx)
			}
			if open {
				return
			}
			if !fixed {
				_ = config.Wait(ctx)
			}
			open = true
			_ = free.Acquire(ctx) // kept
		}
		tasks(ctx, connect, connect)
	}},
}

// TestShares: such a mistake is found in the first seeds, and in none in which nothing is lost.
func TestShares(t *testing.T) {
	for _, b := range checkedTooEarly {
		t.Run(b.name, func(t *testing.T) {
			exact := newSeries(t)
			exact.Exact = true
			found := 0
			for seed := range uint64(b.budget) {
				broken := func(ctx context.Context) { b.body(ctx, false) }
				if fails(t, seed+1, broken) {
					found++
				}
				if fails(t, seed+1, func(ctx context.Context) { b.body(ctx, true) }) {
					t.Error("without the mistake seed", seed+1, "fails")
				}
				a := exact.NewRun(exact.Choices(seed + 1))
				if what := exact.Verdict(a, newLoopWorld(&attempt{Run: a}).execute(broken)); what != "" {
					t.Errorf("exact, seed %d fails: %s", seed+1, what)
				}
			}
			t.Logf("%d of %d seeds", found, b.budget)
			if found < b.budget/20 {
				t.Errorf("%d of %d seeds found it", found, b.budget)
			}
		})
	}
}
