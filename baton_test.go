package rondo

import (
	"context"
	"iter"
	"math/rand/v2"
	"runtime"
	"testing"
)

// placement returns where each goroutine of a loop is parked. It is the model of
// the permutation in baton.go.
func placement(t *testing.T, l *Loop) map[*slot]string {
	t.Helper()
	at := make(map[*slot]string)
	park := func(s *slot, who string) {
		if s == nil {
			return
		}
		if other, taken := at[s]; taken {
			t.Fatalf("%s and %s are parked in one slot", other, who)
		}
		at[s] = who
	}
	if direct {
		park(l.runTask.worker.at, "Run")
	} else {
		park(l.runSlot, "Run")
	}
	for task := range l.tasks() {
		if task.worker != nil {
			park(task.worker.at, task.Name())
		}
	}
	for i, w := range l.idle {
		if int(w.index) != i {
			t.Fatalf("idle worker %d has index %d", i, w.index)
		}
		park(w.at, "an idle worker")
	}
	return at
}

// TestBatonPermutation makes random transfers among tasks that start, wake each
// other, nest coroutines and end. All goroutines but the running one are parked,
// one in each slot.
func TestBatonPermutation(t *testing.T) {
	steps := 300_000
	if testing.Short() {
		steps = 20_000
	}
	for seed := range uint64(4) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		before := runtime.NumGoroutine()
		err := Run(context.Background(), func(ctx context.Context) error {
			l := scopeOf(ctx).loop
			var asleep WaitList
			var act func(ctx context.Context, depth int) error
			act = func(ctx context.Context, depth int) error {
				for steps > 0 && rnd.IntN(40) > 0 {
					steps--
					if steps%64 == 0 {
						if got := len(placement(t, l)); got != l.workers {
							t.Fatalf("%d goroutines are parked in %d slots", got, l.workers)
						}
					}
					switch n := rnd.IntN(10); {
					case n < 3 && l.live < 50:
						Go(ctx, func(ctx context.Context) error { return act(ctx, 0) })
					case n < 6:
						asleep.Wake()
					case n < 7 && asleep.Len() < l.live-2:
						if err := asleep.Park(ctx, Reason{What: "test"}); err != nil {
							return err
						}
					case n < 8 && depth < 3:
						next, stop := iter.Pull(func(yield func(error) bool) { yield(act(ctx, depth+1)) })
						err, _ := next()
						stop()
						if err != nil {
							return err
						}
					default:
						if err := Yield(ctx); err != nil {
							return err
						}
					}
				}
				return nil
			}
			for steps > 0 {
				if err := act(ctx, 0); err != nil {
					return err
				}
				asleep.WakeAll()
				if err := Yield(ctx); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		waitGoroutines(t, before)
		steps = 50_000
	}
}

// waitGoroutines fails the test if more goroutines than before are left.
func waitGoroutines(t *testing.T, before int) {
	t.Helper()
	for range 1_000_000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%d goroutines are left", runtime.NumGoroutine()-before)
}

// TestSurplus: workers that a burst of tasks left idle are retired after a while,
// also if other tasks go on.
func TestSurplus(t *testing.T) {
	err := Run(context.Background(), func(ctx context.Context) error {
		l := scopeOf(ctx).loop
		const burst = 5 * idleMin
		var gate Event
		err := Group(ctx, func(g *Scope) error {
			for range burst {
				g.Go(gate.Wait)
			}
			for gate.waiters.Len() < burst {
				if err := Yield(g); err != nil {
					return err
				}
			}
			gate.Set()
			return nil
		})
		if err != nil || l.workers < burst {
			t.Fatalf("%d workers for %d tasks, %v", l.workers, burst, err)
		}
		// This is as if the time of two looks had passed.
		for range 2 {
			l.idleSince = l.now - idleFor
			l.lookForSurplus()
		}
		over := l.surplus
		if over < burst-2*idleMin {
			t.Fatalf("%d of %d idle workers are surplus", over, len(l.idle))
		}
		// Tasks that park and wake pass through the slots of idle workers.
		before := l.workers
		for range 20 {
			err := Group(ctx, func(g *Scope) error {
				for range idleMin {
					g.Go(func(ctx context.Context) error { return Yield(ctx) })
				}
				return nil
			})
			if err != nil {
				return err
			}
			placement(t, l)
		}
		if direct && l.workers >= before {
			t.Errorf("none of %d workers was retired", before)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
