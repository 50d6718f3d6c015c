package kerneltest_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/pace"
	"github.com/rondo-go/rondo/sim"
)

// TestPullAlone: next and stop of a sequence that does not wait let no other task
// run.
func TestPullAlone(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		shared := 0
		rondo.Go(ctx, func(ctx context.Context) error {
			shared++
			return nil
		})
		body := func(yield func(int) bool) {
			for i := range 3 {
				if !yield(i) {
					return
				}
			}
		}
		next, stop := rondo.Pull(ctx, body)
		sum := 0
		for v, ok := next(); ok; v, ok = next() {
			sum += v
		}
		stop()
		next, stop = rondo.Pull(ctx, body)
		next()
		stop()
		if shared != 0 || sum != 3 {
			t.Errorf("the sum is %d; another task ran %d times", sum, shared)
		}
	})
}

// TestPullTurns: a next gives other tasks their turn when it has its value. So tasks can share a
// Pull if each looks first whether the sequence runs: between that look and the sequence no other
// task runs.
func TestPullTurns(t *testing.T) {
	const many = 10_000
	sim.Config{Exact: true}.Test(t, func(ctx context.Context) { // exact, or the other task may begin late
		running, slow := false, false
		next, stop := rondo.Pull(ctx, func(yield func(int) bool) {
			for i := 0; ; i++ {
				running = true
				if slow {
					_ = rondo.Sleep(ctx, time.Second)
				}
				if running = false; !yield(i) {
					return
				}
			}
		})
		got, turn := make(map[int]bool), 0
		take := func() {
			v, _ := next()
			got[v] = true
		}
		other := rondo.Go(ctx, func(context.Context) error {
			turn = len(got)
			if !running {
				slow = true
				take()
				slow = false
			}
			return nil
		})
		for range many {
			if running {
				_ = other.Wait(ctx)
			}
			take()
		}
		_ = other.Wait(ctx)
		stop()
		if len(got) != many+1 || turn == many {
			t.Errorf("%d values, want %d; the other task had its turn after %d", len(got), many+1, turn)
		}
	})
}

// TestPullUnstarted: before the first next a sequence does not run, and no task
// is made for it.
func TestPullUnstarted(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		ran := false
		seq := func(func(int) bool) { ran = true }
		before := len(rondo.Tasks(ctx))
		next, stop := rondo.Pull(ctx, seq)
		_, _ = rondo.Pull(ctx, seq)
		if n := len(rondo.Tasks(ctx)); n != before {
			t.Errorf("there are %d tasks, before there were %d", n, before)
		}
		stop()
		if _, ok := next(); ok || ran {
			t.Errorf("next of a Pull that was stopped before its start returned %v; the sequence ran: %v", ok, ran)
		}
		var late func() (int, bool)
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			late, _ = rondo.Pull(g, seq)
			return nil
		})
		for range 2 {
			if _, ok := late(); ok || ran {
				t.Errorf("next of a Pull whose scope has ended returned %v; the sequence ran: %v", ok, ran)
			}
		}
	})
}

// TestPullStop: stop returns when the clean-up of the sequence has run. That may
// wait without a Shield, because stop does not cancel the ctx.
func TestPullStop(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		cleaned := 0
		next, stop := rondo.Pull(ctx, func(yield func(int) bool) {
			defer func() {
				if err := rondo.Sleep(ctx, time.Second); err != nil {
					t.Errorf("Sleep in the clean-up returned %v", err)
				}
				cleaned++
			}()
			for yield(1) {
			}
			if yield(2) {
				t.Error("yield returned true after stop")
			}
		})
		next()
		// A second stop waits for the same clean-up.
		begun := false
		other := rondo.Go(ctx, func(context.Context) error {
			begun = true
			stop()
			if cleaned != 1 {
				t.Errorf("the second stop returned when the clean-up had run %d times", cleaned)
			}
			return nil
		})
		if err := rondo.Yield(ctx); err != nil {
			t.Error(err)
		}
		if _, ok := next(); ok == begun {
			t.Errorf("next returned %v; stop was called: %v", ok, begun)
		}
		stop()
		if cleaned != 1 {
			t.Errorf("stop returned when the clean-up had run %d times", cleaned)
		}
		_ = other.Wait(ctx)
	})
}

// TestPullScopesAreItsOwn: a Timeout in the sequence does not end waits of the
// caller, and a Timeout of the caller does not end waits of the sequence.
func TestPullScopesAreItsOwn(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		next, stop := rondo.Pull(ctx, func(yield func(error) bool) {
			yield(rondo.Timeout(ctx, time.Second, func(ctx context.Context) error {
				yield(nil)
				return rondo.Sleep(ctx, time.Hour)
			}))
			yield(rondo.Sleep(ctx, time.Hour))
		})
		next()
		if err := rondo.Sleep(ctx, time.Minute); err != nil {
			t.Errorf("the Timeout of the sequence ended a wait of the caller: %v", err)
		}
		if err, _ := next(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the Timeout of the sequence returned %v", err)
		}
		err := rondo.Timeout(ctx, time.Second, func(ctx context.Context) error {
			if err, ok := next(); err != nil || !ok {
				t.Errorf("the Timeout of the caller ended a wait of the sequence: %v, %v", err, ok)
			}
			return rondo.Check(ctx)
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the Timeout of the caller returned %v", err)
		}
		stop()
	})
}

// TestPullAllowance: other tasks run although the reads of the sequence, or of
// its caller, never wait.
func TestPullAllowance(t *testing.T) {
	spend := func(ctx context.Context) { kernel.Of(ctx).Task().Spend(0) }
	nothing := func(context.Context) {}
	for _, who := range []struct{ body, caller func(ctx context.Context) }{{spend, nothing}, {nothing, spend}, {spend, spend}} {
		exact.Test(t, func(ctx context.Context) {
			turns := 0
			rondo.Go(ctx, func(ctx context.Context) error {
				for ctx.Err() == nil {
					turns++
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
				return nil
			})
			next, stop := rondo.Pull(ctx, func(yield func(int) bool) {
				for yield(1) {
					who.body(ctx)
				}
			})
			defer stop()
			for range 160 {
				next()
				who.caller(ctx)
			}
			if turns < 3 {
				t.Errorf("another task ran %d times", turns)
			}
		})
	}
}

// TestPullEndsMeanwhile: next returns false if it gives others a turn and one of them comes to the
// end of the sequence.
func TestPullEndsMeanwhile(t *testing.T) {
	for spent := pace.Operations - 2; spent <= pace.Operations; spent++ {
		exact.Test(t, func(ctx context.Context) {
			next, _ := rondo.Pull(ctx, slices.Values([]int{1}))
			next()
			other := rondo.Go(ctx, func(context.Context) error { next(); return nil })
			for range spent {
				_ = rondo.Checkpoint(ctx)
			}
			if v, ok := next(); ok {
				t.Errorf("after %d operations next returned %d", spent, v)
			}
			_ = other.Wait(ctx)
		})
	}
}

// TestPullInTaskInfo: a task in next or stop waits for that of the sequence, which waits between
// two calls of next.
func TestPullInTaskInfo(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		caller := rondo.Current(ctx)
		var own *rondo.Task
		waits := func(when string, task *rondo.Task, what string, on uint64) {
			if i := task.Info(); i.State != "waiting" || i.Waiting != what || i.On != on {
				t.Errorf("%s: a task is %s for %s %d, want %s %d", when, i.State, i.Waiting, i.On, what, on)
			}
		}
		next, stop := rondo.Pull(ctx, func(yield func(int) bool) {
			own = rondo.Current(ctx)
			waits("next", caller, "next", own.ID())
			yield(1)
			waits("stop", caller, "next", own.ID())
		})
		next()
		waits("between", own, "pull", 0)
		stop()
	})
}

// TestPullYieldsInACoroutine: a sequence may call yield in a coroutine that it has made.
func TestPullYieldsInACoroutine(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		next, stop := rondo.Pull(ctx, func(yield func(int) bool) {
			inner, end := iter.Pull(func(further func(bool) bool) {
				for v := 1; further(yield(v)); v++ {
				}
			})
			defer end()
			for more, _ := inner(); more; more, _ = inner() {
			}
		})
		for want := 1; want <= 3; want++ {
			if v, ok := next(); v != want || !ok {
				t.Errorf("next returned %d, %v, want %d", v, ok, want)
			}
		}
		stop()
	})
}
