package kerneltest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// counting is the sequence 0, 1, 2 and so on without an end. It counts its values
// in n.
func counting(n *int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for ; yield(*n); *n++ {
		}
	}
}

// TestMapInOrder: the results come in order, at most limit functions run at once,
// and the input is pulled no further than that.
func TestMapInOrder(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		for limit := 1; limit <= 4; limit++ {
			running, most, pulled, next := 0, 0, 0, 0
			for v, err := range rondo.Map(ctx, limit, counting(&pulled), func(ctx context.Context, n int) (string, error) {
				running++
				defer func() { running-- }()
				most = max(most, running)
				return fmt.Sprint(n), rondo.Sleep(ctx, time.Duration(sim.Rand(ctx).IntN(3))*time.Second)
			}) {
				if err != nil || v != fmt.Sprint(next) {
					t.Errorf("result %d is %q, %v", next, v, err)
				}
				if next++; pulled-next >= limit {
					t.Errorf("%d elements were pulled for %d results, with a limit of %d", pulled+1, next, limit)
				}
				if next == 10 {
					break
				}
				if next%3 == 0 {
					_ = rondo.Sleep(ctx, time.Second)
				}
			}
			if most != limit || running != 0 {
				t.Errorf("%d functions ran at once, want %d; %d still run", most, limit, running)
			}
		}
	})
}

// TestMapWaitsForOthers: the input of a Map may wait with the ctx of a scope elsewhere, whose
// cancellation ends the wait.
func TestMapWaitsForOthers(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		var elsewhere *rondo.Scope
		other := rondo.Go(ctx, func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				elsewhere = g
				_ = rondo.Sleep(g, time.Second)
				g.Cancel(errStop)
				return nil
			})
		})
		_ = rondo.Sleep(ctx, 1)
		in := func(yield func(int) bool) {
			if err := forever(elsewhere); err != errStop {
				t.Errorf("the wait ended with %v, want the cause of its cancellation", err)
			}
			yield(1)
		}
		for v, err := range rondo.Map(ctx, 1, in, double) {
			if v != 2 || err != nil {
				t.Errorf("the result is %d, %v", v, err)
			}
		}
		_ = other.Wait(ctx)
	})
}

func TestMapEnds(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		var got []int
		m := rondo.Map(ctx, 2, slices.Values([]int{1, 2, 3}), double)
		for range 2 { // It may be ranged over again.
			for v, err := range m {
				if err != nil {
					t.Error(err)
				}
				got = append(got, v)
			}
		}
		if !slices.Equal(got, []int{2, 4, 6, 2, 4, 6}) {
			t.Errorf("the results are %v", got)
		}
		for v, err := range rondo.Map(ctx, 5, slices.Values([]int(nil)), double) {
			t.Errorf("an empty sequence has the result %v, %v", v, err)
		}
	})
}

// TestMapIsLeft: when the range is left, the functions and the input are
// cancelled and have ended, also if the input waits with a ctx from outside. No
// more values are taken from the input.
func TestMapIsLeft(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		q := rondo.NewQueue[int](0)
		for i := range 2 {
			q.TryPut(i)
		}
		ended, cleaned := 0, false
		in := func(yield func(int) bool) {
			defer func() { cleaned = true }()
			q.All(ctx)(yield)
		}
		start := rondo.Now(ctx)
		for v, err := range rondo.Map(ctx, 5, in, func(ctx context.Context, n int) (int, error) {
			defer func() { ended++ }()
			return n, rondo.Sleep(ctx, time.Duration(n)*time.Hour)
		}) {
			if v != 0 || err != nil {
				t.Errorf("the first result is %v, %v", v, err)
			}
			break
		}
		if ended != 2 || !cleaned || rondo.Now(ctx) != start {
			t.Errorf("%d of 2 functions have ended, the input has ended: %v, after %v", ended, cleaned, rondo.Now(ctx).Sub(start))
		}
		q.TryPut(7)
		if v, err := q.Get(ctx); v != 7 || err != nil {
			t.Errorf("Get returned %v, %v: Map still takes values", v, err)
		}
	})
}

// TestMapIsLeftWhenCancelled: that a range is left by a task that is cancelled alone, or by a Pull
// that the end of its task stops, is no failure of the Group around them, and starts no task.
func TestMapIsLeftWhenCancelled(t *testing.T) {
	for name, start := range map[string]func(g *rondo.Scope){
		"task": func(g *rondo.Scope) {
			task := g.Go(func(ctx context.Context) error {
				within, stop := context.WithCancel(ctx)
				defer stop()
				for range rondo.Map(within, 2, counting(new(int)), double) {
					return rondo.Sleep(ctx, time.Hour)
				}
				return nil
			})
			_ = rondo.Sleep(g, time.Second)
			before := rondo.LoopOf(g).Stats().Spawned
			task.Cancel(nil)
			_ = task.Wait(g)
			if n := rondo.LoopOf(g).Stats().Spawned - before; n != 0 {
				t.Errorf("%d tasks were started", n)
			}
		},
		"Pull": func(g *rondo.Scope) {
			g.Go(func(ctx context.Context) error {
				next, _ := rondo.Pull(ctx, func(yield func(int) bool) {
					for v := range rondo.Map(ctx, 2, counting(new(int)), double) {
						if !yield(v) {
							return
						}
					}
				})
				next()
				return nil
			})
		},
	} {
		sim.Test(t, func(ctx context.Context) {
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				start(g)
				return rondo.Sleep(g, time.Second)
			})
			if err != nil {
				t.Errorf("%s: Group returned %v", name, err)
			}
		})
	}
}

func TestMapIsCancelled(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		n := 0
		cleaned := 0
		var last error
		err := rondo.Timeout(ctx, 90*time.Minute, func(ctx context.Context) error {
			for v, err := range rondo.Map(ctx, 2, counting(&n), func(ctx context.Context, n int) (int, error) {
				err := rondo.Sleep(ctx, time.Hour)
				if err != nil {
					_ = rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Minute) })
					cleaned++
				}
				return n, err
			}) {
				if last != nil {
					t.Errorf("after the error %v came %v, %v", last, v, err)
				}
				last = err
			}
			if !errors.Is(last, context.DeadlineExceeded) || cleaned != 2 {
				t.Errorf("the last error is %v; %d of 2 functions have ended", last, cleaned)
			}
			return rondo.Check(ctx)
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Cancel(errBroken)
			var errs []error
			for _, err := range rondo.Map(g, 2, counting(&n), double) {
				errs = append(errs, err)
			}
			if !slices.Equal(errs, []error{errBroken}) {
				t.Errorf("in a cancelled scope Map yielded %v", errs)
			}
			return nil
		})
	})
	for _, err := range rondo.Map(context.Background(), 1, slices.Values([]int{1}), double) {
		if !errors.Is(err, rondo.ErrNoLoop) {
			t.Errorf("without a loop Map yielded %v", err)
		}
	}
}

// TestMapPanics: with Recover, the panic of a function is the error of its
// element, and the panic of the input is the last error. If the range was left
// before the input panics, the panic goes to the scope around it.
func TestMapPanics(t *testing.T) {
	isOops := func(err error) bool {
		var p *rondo.PanicError
		return errors.As(err, &p) && p.Value == "oops"
	}
	second := func(ctx context.Context, n int) (int, error) {
		if n == 1 {
			panic("oops")
		}
		return n, rondo.Yield(ctx)
	}
	bad := func(yield func(int) bool) {
		yield(1)
		panic("oops")
	}
	err := (&rondo.Runner{Recover: true}).Run(t.Context(), func(ctx context.Context) error {
		i := 0
		for v, err := range rondo.Map(ctx, 2, slices.Values([]int{0, 1, 2}), second) {
			if i == 1 && !isOops(err) || i != 1 && (v != i || err != nil) {
				t.Errorf("result %d is %v, %v", i, v, err)
			}
			i++
		}
		var last error
		for _, err := range rondo.Map(ctx, 2, bad, double) {
			last = err
		}
		if i != 3 || !isOops(last) {
			t.Errorf("there are %d results, want 3; the last error of an input that panics is %v", i, last)
		}
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for range rondo.Map(g, 1, bad, double) {
				break
			}
			return nil
		})
		if !isOops(err) {
			t.Errorf("Group around an input that panics after the range returned %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestMapInEveryOrder: the results come in order, whatever runs first.
func TestMapInEveryOrder(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		var got []int
		for v, err := range rondo.Map(ctx, 2, slices.Values([]int{1, 2, 3}), func(ctx context.Context, n int) (int, error) {
			return n, rondo.Yield(ctx)
		}) {
			if err != nil {
				t.Error(err)
			}
			if got = append(got, v); len(got) == 2 {
				break
			}
		}
		if !slices.Equal(got, []int{1, 2}) {
			t.Errorf("the results are %v", got)
		}
	})
}
