package kerneltest_test

// The law of shares: a task whose operations never have to wait does not keep the loop to
// itself. Each function that takes a ctx and may suspend counts, whatever it finds.

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// neverSuspend are the functions that take a ctx and only look at the loop.
var neverSuspend = []string{"Async", "Check", "Current", "Go", "LoopOf", "NewFuture", "Now", "Pull", "Run", "Runner.Run", "Tasks", "TimedOut"}

// atOnce are operations that find what they want, beside those of the surface.
var atOnce = []call{
	{name: "a set Event.Wait", do: func(ctx context.Context, o *objects) error { return o.set.Wait(ctx) }},
	{name: "Pull's next", do: func(_ context.Context, o *objects) error { o.next(); return nil }},
	{name: "Put and Get", do: func(ctx context.Context, o *objects) error {
		_, err := o.queue.Get(ctx)
		return orError(err, o.queue.Put(ctx, 1))
	}},
	{name: "Get of a closed Queue", do: func(ctx context.Context, o *objects) error { _, _ = o.closed.Get(ctx); return nil }},
}

func orError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// suspending returns the calls that must count: those of the surface that may suspend, and
// atOnce.
func suspending() []call {
	return slices.Concat(atOnce, slices.DeleteFunc(slices.Clone(surface), func(c call) bool { return slices.Contains(neverSuspend, c.name) }))
}

// newObjects makes what the calls are made on, all of it ready.
func newObjects(g *rondo.Scope) *objects {
	o := &objects{scope: g, task: g.Go(nothing), future: rondo.NewFuture[int](g), queue: full(), closed: full()}
	o.future.Set(1)
	o.set.Set()
	o.closed.Abort()
	o.next, _ = rondo.Pull(g, func(yield func(int) bool) {
		for yield(1) {
		}
	})
	_ = o.task.Wait(g)
	return o
}

// TestShares: however a task spends its share, another one runs after some hundred operations,
// and not after each.
func TestShares(t *testing.T) {
	for _, c := range suspending() {
		t.Run(c.name, func(t *testing.T) {
			exact.Test(t, func(ctx context.Context) {
				turns, done := 0, 0
				_ = rondo.Group(ctx, func(g *rondo.Scope) error {
					o := newObjects(g)
					busy := g.Go(func(ctx context.Context) error {
						for ; done < 1000; done++ {
							_ = c.do(ctx, o)
						}
						return nil
					})
					for ; turns < 3 && !busy.Done(); turns++ {
						_ = rondo.Yield(g)
					}
					g.Cancel(nil)
					return nil
				})
				if turns < 3 {
					t.Errorf("another task ran %d times beside %d operations", turns, done)
				}
			})
		})
	}
}

// TestShareInSimulation: in a simulation others get a turn in each operation that the documentation
// names, and in no other one. If the task is cancelled in this turn, a Checkpoint fails.
func TestShareInSimulation(t *testing.T) {
	for _, waits := range []bool{false, true} {
		exact.Test(t, func(ctx context.Context) {
			set := rondo.NewFuture[int](ctx)
			set.Set(1)
			operations, cancelled, failed := 0, false, error(nil)
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(ctx context.Context) error {
					for operations < 10_000 && !cancelled {
						operations++
						before := rondo.Current(ctx).Info().Switches
						if waits {
							_, failed = set.Wait(ctx)
						} else {
							failed = rondo.Checkpoint(ctx)
						}
						if turn := rondo.Current(ctx).Info().Switches > before; turn != (operations%128 == 0) {
							t.Errorf("others had a turn in operation %d: %v", operations, turn)
						}
					}
					return nil
				})
				for operations < 256 {
					_ = rondo.Yield(g)
				}
				cancelled = true
				g.Cancel(errStop)
				return nil
			})
			if operations == 10_000 || !waits && failed != errStop {
				t.Errorf("cancelled in operation %d, which returned %v", operations, failed)
			}
		})
	}
}

// TestScopesCallBodyAtOnce: a function that opens a scope takes no turn before its body, so what
// the caller has checked last still holds there. With a turn there, a wait for something that
// came during it never ended.
func TestScopesCallBodyAtOnce(t *testing.T) {
	opened := map[string]func(ctx context.Context, body func(ctx context.Context) error) error{
		"Contain": rondo.Contain,
		"Deadline": func(ctx context.Context, body func(ctx context.Context) error) error {
			return rondo.Deadline(ctx, rondo.Now(ctx).Add(time.Hour), body)
		},
		"Group": func(ctx context.Context, body func(ctx context.Context) error) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error { return body(g) })
		},
		"Shield": rondo.Shield,
		"Timeout": func(ctx context.Context, body func(ctx context.Context) error) error {
			return rondo.Timeout(ctx, time.Hour, body)
		},
	}
	for name, open := range opened {
		t.Run(name, func(t *testing.T) {
			exact.Test(t, func(ctx context.Context) {
				turns, late := 0, 0
				ticker := rondo.Go(ctx, func(ctx context.Context) error {
					for {
						if err := rondo.Yield(ctx); err != nil {
							return err
						}
						turns++
					}
				})
				for range 5000 {
					before := turns
					_ = open(ctx, func(context.Context) error {
						if turns != before {
							late++
						}
						return nil
					})
				}
				ticker.Cancel(nil)
				if late > 0 || turns < 3 {
					t.Errorf("of 5000 bodies %d ran after another task's turn, of which there were %d", late, turns)
				}
			})
		})
	}
}

// TestTimeoutEndsWhatNeverWaits: on a real loop time decides, so a deadline ends a loop of
// operations that never wait.
func TestTimeoutEndsWhatNeverWaits(t *testing.T) {
	const most = 20_000_000
	for _, c := range suspending() {
		run(t, func(ctx context.Context) error {
			n := 0
			err := rondo.Timeout(ctx, 200*time.Microsecond, func(ctx context.Context) error {
				o := newObjects(ctx.(*rondo.Scope))
				for ; n < most && ctx.Err() == nil; n++ {
					_ = c.do(ctx, o)
				}
				return nil
			})
			if n == most {
				t.Errorf("%s: the Timeout has not ended it after %d operations: %v", c.name, n, err)
			}
			return nil
		})
	}
}

// TestTryTakesNoTurn: what has no ctx never suspends, however often it is called; neither does
// Check.
func TestTryTakesNoTurn(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		turns := 0
		other := rondo.Go(ctx, func(context.Context) error { turns++; return nil })
		var m rondo.Mutex
		var rw rondo.RWMutex
		s, q := rondo.NewSemaphore(1), rondo.NewSlidingQueue[int](1)
		for range 1000 {
			if !m.TryLock() || !rw.TryLock() || !s.TryAcquire() || !q.TryPut(1) || rondo.Check(ctx) != nil {
				t.Fatal("something was not free")
			}
			m.Unlock()
			rw.Unlock()
			s.Release()
		}
		if turns > 0 {
			t.Error("another task has run")
		}
		_ = other.Wait(ctx)
	})
}
