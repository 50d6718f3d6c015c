package conformance

// Behaviour that asyncio promises of TaskGroup, timeout, gather, wait,
// as_completed, shield and Runner, and trio of its scopes, each under the number
// of the project's list. Where Rondo means to differ, the test shows what Rondo
// does.

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/sim"
)

// sleeper gives a task function that returns err when d has passed, or the cause
// if it is cancelled first; then it sets *cut.
func sleeper(d time.Duration, err error, cut *bool) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		if err := rondo.Sleep(ctx, d); err != nil {
			*cut = true
			return err
		}
		return err
	}
}

func TestC090GroupWaitsForBoth(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		start, cut := rondo.Now(ctx), false
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(sleeper(time.Second, nil, &cut))
			g.Go(sleeper(2*time.Second, nil, &cut))
			return nil
		})
		if err != nil || cut || rondo.Now(ctx).Sub(start) != 2*time.Second {
			t.Error(err, cut, rondo.Now(ctx).Sub(start))
		}
	})
}

func TestC091GroupFirstErrorCancelsSiblings(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		cut, body := false, error(nil)
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(sleeper(time.Hour, nil, &cut))
			g.Go(func(context.Context) error { return errBroken })
			body = rondo.Sleep(g, time.Hour)
			return body
		})
		if err != errBroken || body != errBroken || !cut {
			t.Errorf("Group returned %v, body's wait %v, sibling cancelled %v", err, body, cut)
		}
		if err := rondo.Check(ctx); err != nil {
			t.Errorf("the scope around is cancelled: %v", err)
		}
	})
}

func TestC092GroupKeepsAllErrorsInOrder(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range 3 {
				g.Go(func(ctx context.Context) error {
					return rondo.Shield(ctx, func(ctx context.Context) error {
						_ = rondo.Sleep(ctx, time.Duration(3-i)*time.Second)
						return fmt.Errorf("error %d", i)
					})
				})
			}
			_ = rondo.Sleep(g, 1)
			return nil
		})
		if got := fmt.Sprint(err); got != "error 2\nerror 1\nerror 0" {
			t.Errorf("Group returned %q", got)
		}
	})
}

func TestC093BodyErrorCancelsChildren(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		cut := false
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(sleeper(time.Hour, nil, &cut))
			return errBroken
		})
		if err != errBroken || !cut {
			t.Error(err, cut)
		}
	})
}

func TestC094OuterCancellationIsNoErrorOfTheGroup(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		cut := false
		task := rondo.Go(ctx, func(ctx context.Context) error {
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(sleeper(time.Hour, nil, &cut))
				g.Go(sleeper(time.Hour, nil, &cut))
				return nil
			})
			if err != errBroken {
				t.Errorf("Group returned %v, want the cause once", err)
			}
			return err
		})
		_ = rondo.Sleep(ctx, 1)
		task.Cancel(errBroken)
		if err := task.Wait(ctx); err != errBroken || !cut {
			t.Error(err, cut)
		}
	})
}

// A panic is what is fatal in Go: it comes before all errors.
func TestC097PanicComesBeforeErrors(t *testing.T) {
	text := panicOf(func() {
		_ = rondo.Run(t.Context(), func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(context.Context) error { return errBroken })
				_ = rondo.Yield(g)
				panic("fatal")
			})
		})
	})
	if !strings.Contains(text, "fatal") {
		t.Errorf("Run panicked with %.80q", text)
	}
}

func TestC099GoInAnEndedGroup(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		var kept *rondo.Scope
		_ = rondo.Group(ctx, func(g *rondo.Scope) error { kept = g; return nil })
		for name, call := range map[string]func(){
			"Scope.Go":    func() { kept.Go(forever) },
			"Go":          func() { rondo.Go(kept, forever) },
			"Scope.Start": func() { _ = kept.Start(ctx, func(context.Context, func()) error { return nil }) },
		} {
			if text := panicOf(call); text != "rondo: Go in a scope that has ended" {
				t.Errorf("%s: %q", name, text)
			}
		}
	})
}

func TestC100GroupNeedsALoop(t *testing.T) {
	err := rondo.Group(context.Background(), func(*rondo.Scope) error { panic("ran") })
	if !errors.Is(err, rondo.ErrNoLoop) {
		t.Errorf("Group returned %v", err)
	}
}

func TestC101Hydra(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		heads := 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			var grow func(depth int) func(ctx context.Context) error
			grow = func(depth int) func(ctx context.Context) error {
				return func(ctx context.Context) error {
					heads++
					if depth > 0 {
						g.Go(grow(depth - 1))
						g.Go(grow(depth - 1))
					}
					return rondo.Yield(ctx)
				}
			}
			g.Go(grow(4))
			return nil
		})
		if err != nil || heads != 31 {
			t.Errorf("Group returned %v with %d of 31 heads", err, heads)
		}
	})
}

func TestC103EarlyReturnOfBodyCancelsNothing(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		cut := false
		err := rondo.Group(ctx, func(g *rondo.Scope) error { g.Go(sleeper(time.Second, nil, &cut)); return nil })
		if err != nil || cut {
			t.Error(err, cut)
		}
	})
}

func TestC104ScopeCancelIsNoError(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		cut := false
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(sleeper(time.Hour, nil, &cut))
			g.Cancel(nil)
			g.Cancel(errBroken)
			return forever(g)
		})
		if err != nil || !cut {
			t.Error(err, cut)
		}
	})
}

// Errors are joined, not nested in groups: errors.Is finds each.
func TestC106InnerGroupFails(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		other := errors.New("other")
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			return rondo.Group(g, func(g *rondo.Scope) error {
				g.Go(func(context.Context) error { return errBroken })
				_ = forever(g)
				return other
			})
		})
		if !errors.Is(err, errBroken) || !errors.Is(err, other) || fmt.Sprint(err) != "broken\nother" {
			t.Errorf("Group returned %q", err)
		}
	})
}

func TestC107OneCancelledChild(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		one, other := false, false
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			task := g.Go(sleeper(time.Hour, nil, &one))
			g.Go(sleeper(time.Second, nil, &other))
			_ = rondo.Yield(g)
			task.Cancel(errors.New("not needed"))
			return nil
		})
		if err != nil || !one || other {
			t.Error(err, one, other)
		}
	})
}

func TestC110TimeoutExpires(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Timeout(ctx, time.Second, forever)
		if !errors.Is(err, context.DeadlineExceeded) || rondo.Check(ctx) != nil {
			t.Error(err, rondo.Check(ctx))
		}
	})
}

func TestC111TimeoutInTimeLeavesNoTimer(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Timeout(ctx, time.Hour, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Second) })
		if n := rondo.LoopOf(ctx).Stats().Timers; err != nil || n != 0 {
			t.Errorf("Timeout returned %v, %d timers are left", err, n)
		}
		if err := rondo.Sleep(ctx, 2*time.Hour); err != nil {
			t.Error(err)
		}
	})
}

func TestC112NoDeadlineAndALaterOne(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			if err := rondo.Sleep(g, 1000*time.Hour); err != nil {
				t.Error(err)
			}
			g.SetDeadline(rondo.Now(ctx).Add(time.Second))
			return forever(g)
		})
		if err != context.DeadlineExceeded {
			t.Error(err)
		}
	})
}

func TestC113TimeoutOfZero(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		if err := rondo.Timeout(ctx, 0, func(context.Context) error { return nil }); err != nil {
			t.Errorf("without a wait: %v", err)
		}
		if err := rondo.Timeout(ctx, 0, func(ctx context.Context) error { return rondo.Sleep(ctx, 0) }); err != context.DeadlineExceeded {
			t.Errorf("with a wait: %v", err)
		}
	})
}

func TestC114NestedTimeouts(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		var inner error
		outer := rondo.Timeout(ctx, 2*time.Second, func(ctx context.Context) error {
			inner = rondo.Timeout(ctx, time.Second, forever)
			if err := rondo.Check(ctx); err != nil {
				t.Errorf("the outer one has expired as well: %v", err)
			}
			return forever(ctx)
		})
		if inner != context.DeadlineExceeded || outer != context.DeadlineExceeded {
			t.Error(inner, outer)
		}
	})
}

func TestC116OtherCancellationIsNoTimeout(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		task := rondo.Go(ctx, func(ctx context.Context) error { return rondo.Timeout(ctx, time.Hour, forever) })
		_ = rondo.Sleep(ctx, 1)
		task.Cancel(errBroken)
		if err := task.Wait(ctx); err != errBroken {
			t.Error(err)
		}
	})
}

func TestC117ErrorBesideATimeout(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Timeout(ctx, 1, func(ctx context.Context) error { _ = forever(ctx); return errBroken })
		if !errors.Is(err, errBroken) || !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// Moving the deadline of a scope that has ended does nothing, as cancelling it:
// it is no error, because who moves it cannot know.
func TestC119DeadlineOfAnEndedScope(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		var kept *rondo.Scope
		_ = rondo.Group(ctx, func(g *rondo.Scope) error { kept = g; return nil })
		kept.SetDeadline(rondo.Now(ctx).Add(time.Second))
		kept.Cancel(errBroken)
		if err := rondo.Sleep(ctx, time.Minute); err != nil {
			t.Error(err)
		}
	})
}

func TestC120TimeoutWaitsForCleanUp(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		start, cleaned := rondo.Now(ctx), false
		err := rondo.Timeout(ctx, time.Second, func(ctx context.Context) error {
			err := forever(ctx)
			_ = rondo.Shield(ctx, func(ctx context.Context) error { cleaned = true; return rondo.Sleep(ctx, time.Minute) })
			return err
		})
		if err != context.DeadlineExceeded || !cleaned || rondo.Now(ctx).Sub(start) != 61*time.Second {
			t.Error(err, cleaned, rondo.Now(ctx).Sub(start))
		}
	})
}

// A wait in a scope whose time is over fails, also for what is done already: its
// Result is there without waiting.
func TestC122TimeoutOfZeroAndADoneFuture(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		f := rondo.NewFuture[int](ctx)
		f.Set(7)
		err := rondo.Timeout(ctx, 0, func(ctx context.Context) error {
			if v, err := f.Result(); v != 7 || err != nil {
				t.Error(v, err)
			}
			_, err := f.Wait(ctx)
			return err
		})
		if err != context.DeadlineExceeded {
			t.Error(err)
		}
	})
}

// A Shield holds the Timeout around it: it is finished first.
func TestC124TimeoutAroundAShield(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		finished := false
		err := rondo.Timeout(ctx, time.Second, func(ctx context.Context) error {
			_ = rondo.Shield(ctx, func(ctx context.Context) error {
				finished = rondo.Sleep(ctx, time.Minute) == nil
				return nil
			})
			return rondo.Check(ctx)
		})
		if err != context.DeadlineExceeded || !finished {
			t.Error(err, finished)
		}
	})
}

func TestC130GatherInArgumentOrder(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		got, err := rondo.Gather(ctx, after(3*time.Second, 1, nil), after(time.Second, 2, nil), after(2*time.Second, 3, nil))
		if err != nil || !slices.Equal(got, []int{1, 2, 3}) {
			t.Error(got, err)
		}
	})
}

// The first error cancels the rest, and they have ended when Gather returns.
func TestC132GatherFails(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		start, cut := rondo.Now(ctx), false
		got, err := rondo.Gather(ctx, after(time.Second, 0, errBroken), func(ctx context.Context) (int, error) {
			return 0, sleeper(time.Hour, nil, &cut)(ctx)
		})
		if err != errBroken || got != nil || !cut || rondo.Now(ctx).Sub(start) != time.Second {
			t.Error(got, err, cut)
		}
	})
}

func TestC133SettleKeepsAllOutcomes(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		got := rondo.Settle(ctx, after(time.Second, 1, nil), after(1, 0, errBroken), func(ctx context.Context) (int, error) {
			rondo.Current(ctx).Cancel(context.Canceled)
			return 0, rondo.Yield(ctx)
		})
		if want := []rondo.Result[int]{{Value: 1}, {Err: errBroken}, {Err: context.Canceled}}; !slices.Equal(got, want) {
			t.Error(got)
		}
	})
}

func TestC135GatherOfNothing(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		if got, err := rondo.Gather[int](ctx); got == nil || len(got) != 0 || err != nil {
			t.Error(got, err)
		}
	})
}

func TestC136WaitAnyInATimeoutCancelsNothing(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		cut := false
		a, b := rondo.Go(ctx, sleeper(time.Minute, nil, &cut)), rondo.Go(ctx, sleeper(time.Hour, nil, &cut))
		err := rondo.Timeout(ctx, time.Second, func(ctx context.Context) error { _, err := rondo.WaitAny(ctx, a, b); return err })
		if err != context.DeadlineExceeded || a.Done() || b.Done() {
			t.Error(err)
		}
		if first, err := rondo.WaitAny(ctx, b, a); first != a || err != nil || cut {
			t.Error(first, err, cut)
		}
	})
}

func TestC138AsCompletedGivesTheOriginals(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		a, b, c := rondo.Async(ctx, after(2*time.Second, 1, nil)), rondo.Async(ctx, after(time.Second, 2, nil)), rondo.NewFuture[int](ctx)
		c.Set(3)
		if got := slices.Collect(rondo.AsCompleted(ctx, a, b, c)); !slices.Equal(got, []*rondo.Future[int]{c, b, a}) {
			t.Error(got)
		}
	})
}

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

func TestC200TasksLeftAtTheEnd(t *testing.T) {
	ended := false
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		rondo.Go(ctx, func(ctx context.Context) error {
			err := forever(ctx)
			_ = rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Millisecond) })
			ended = true
			return err
		})
		return nil
	})
	if err != nil || !ended {
		t.Error(err, ended)
	}
}

// A Runner may run again; what is to last is in the ctx that is given to it.
func TestC203RunnerRunsTwice(t *testing.T) {
	var r rondo.Runner
	ctx := context.WithValue(context.Background(), ctxKey("n"), 7)
	for range 2 {
		if err := r.Run(ctx, func(ctx context.Context) error {
			if ctx.Value(ctxKey("n")) != 7 {
				t.Error("the value is lost")
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
}

func TestC204ValueOfAChild(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		child := rondo.Go(ctx, func(ctx context.Context) error {
			ctx = context.WithValue(ctx, ctxKey("k"), "child")
			return rondo.Go(ctx, func(ctx context.Context) error {
				if ctx.Value(ctxKey("k")) != "child" {
					t.Error("a value does not come down")
				}
				return nil
			}).Wait(ctx)
		})
		sibling := rondo.Go(ctx, func(ctx context.Context) error {
			if v := ctx.Value(ctxKey("k")); v != nil {
				t.Errorf("a sibling sees %v", v)
			}
			return nil
		})
		if err := errors.Join(child.Wait(ctx), sibling.Wait(ctx)); err != nil || ctx.Value(ctxKey("k")) != nil {
			t.Error(err)
		}
	})
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

func TestC221OuterDeadlineEndsTheOuterScope(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		start, went := rondo.Now(ctx), false
		outer := rondo.Timeout(ctx, 5*time.Second, func(ctx context.Context) error {
			inner := rondo.Timeout(ctx, 10*time.Second, forever)
			went = rondo.Check(ctx) == nil
			return inner
		})
		if outer != context.DeadlineExceeded || went || rondo.Now(ctx).Sub(start) != 5*time.Second {
			t.Error(outer, went)
		}
	})
}

func TestC222CancelledBeforeItBegins(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		ran, first := false, error(nil)
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Cancel(errBroken)
			g.Go(func(ctx context.Context) error { ran = true; first = rondo.Yield(ctx); return first })
			return nil
		})
		if !ran || first != errBroken || err != errBroken {
			t.Error(ran, first, err)
		}
	})
}

func TestC234PostAfterTheEnd(t *testing.T) {
	var l *rondo.Loop
	run(t, func(ctx context.Context) error { l = rondo.LoopOf(ctx); return nil })
	if err := l.Post(func() { t.Error("ran") }); !errors.Is(err, rondo.ErrLoopClosed) {
		t.Error(err)
	}
}

func TestC242NothingIsLeftOfALoop(t *testing.T) {
	before := runtime.NumGoroutine()
	run(t, func(ctx context.Context) error {
		never := make(chan int)
		for range 10 {
			rondo.Go(ctx, forever)
			rondo.Go(ctx, func(ctx context.Context) error { _, _, err := rondo.Receive(ctx, never); return err })
			rondo.Go(ctx, func(ctx context.Context) error {
				for range rondo.Map(ctx, 3, rondo.NewQueue[int](0).All(ctx), double) {
				}
				return nil
			})
		}
		return rondo.Yield(ctx)
	})
	if left := leak.Settle(before); left > before {
		t.Errorf("%d goroutines are left", left-before)
	}
}

func TestC244TimersAndTasksGiveTheirMemoryBack(t *testing.T) {
	run(t, func(ctx context.Context) error {
		heap := func() int64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		work := func(n int) error {
			for range n {
				rondo.LoopOf(ctx).CallLater(time.Hour, func() {}).Cancel()
				task := rondo.Go(ctx, forever)
				task.Cancel(nil)
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
			}
			return nil
		}
		if err := work(1000); err != nil {
			return err
		}
		before := heap()
		if err := work(200_000); err != nil {
			return err
		}
		if grown := heap() - before; grown > 1<<20 {
			t.Errorf("%d bytes are left", grown)
		}
		return nil
	})
}
