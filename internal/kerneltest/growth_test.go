package kerneltest_test

// Tests that nothing grows with how often something was done, or with the number of
// tasks. They do it n times, and as often again, and compare counts of objects,
// bytes or workers.

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// held returns how many objects and bytes are in use.
func held() (objects, bytes int64) {
	runtime.GC()
	runtime.GC() // what the first one finalised
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Mallocs - m.Frees), int64(m.HeapAlloc)
}

// repeated are things of which each leaves nothing.
var repeated = map[string]func(ctx context.Context, o *repetition) error{
	"a wait for another loop's Future that times out": func(ctx context.Context, o *repetition) error {
		return o.cut(ctx, func(ctx context.Context) error { _, err := o.future.Wait(ctx); return err })
	},
	"a wait for another loop's Task that times out": func(ctx context.Context, o *repetition) error {
		return o.cut(ctx, o.future.Task().Wait)
	},
	"a goroutine's wait for a Task that times out": func(ctx context.Context, o *repetition) error {
		return o.outside(ctx, o.task.Wait)
	},
	"a goroutine's wait for a Future that times out": func(ctx context.Context, o *repetition) error {
		return o.outside(ctx, func(ctx context.Context) error { _, err := o.own.Wait(ctx); return err })
	},
	"a wait for a Task that is cancelled": func(ctx context.Context, o *repetition) error {
		return o.cut(ctx, o.task.Wait)
	},
	"an OnDone that is stopped": func(_ context.Context, o *repetition) error {
		o.own.OnDone(func() {})()
		return nil
	},
	"a WaitAny that another Task ends": func(ctx context.Context, o *repetition) error {
		_, err := rondo.WaitAny(ctx, o.task, rondo.Go(ctx, nothing))
		return err
	},
	"a Pull that is stopped": func(ctx context.Context, _ *repetition) error {
		next, stop := rondo.Pull(ctx, func(yield func(int) bool) { yield(1) })
		next()
		stop()
		return rondo.Yield(ctx)
	},
	"a coroutine in a task": func(ctx context.Context, _ *repetition) error {
		next, stop := iter.Pull(func(yield func(error) bool) { yield(rondo.Sleep(ctx, 1)) })
		defer stop()
		err, _ := next()
		return err
	},
}

// A repetition is what repeated things are done to.
type repetition struct {
	future *rondo.Future[int] // of another loop, is never done
	own    *rondo.Future[int]
	task   *rondo.Task // does not end
}

// cut runs wait in a scope that is cancelled while it waits.
func (o *repetition) cut(ctx context.Context, wait func(ctx context.Context) error) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		rondo.LoopOf(ctx).CallSoon(func() { g.Cancel(nil) })
		if err := wait(g); !errors.Is(err, context.Canceled) {
			return errors.Join(errBroken, err)
		}
		return nil
	})
}

// outside runs wait on a goroutine, with a ctx that ends while it waits.
func (o *repetition) outside(ctx context.Context, wait func(ctx context.Context) error) error {
	_, err := rondo.Offload(ctx, func(context.Context) (int, error) {
		c, cancel := context.WithTimeout(context.Background(), time.Microsecond)
		defer cancel()
		if err := wait(c); !errors.Is(err, context.DeadlineExceeded) {
			return 0, errors.Join(errBroken, err)
		}
		return 0, nil
	})
	return err
}

// TestNothingGrows: what leaves nothing leaves nothing the more often it is done.
func TestNothingGrows(t *testing.T) {
	const n = 2000
	over := make(chan bool)
	loops := make(chan *rondo.Loop)
	ended := make(chan error)
	go func() {
		ended <- rondo.Run(context.Background(), func(ctx context.Context) error {
			loops <- rondo.LoopOf(ctx)
			_, _, err := rondo.Receive(ctx, over)
			return err
		})
	}()
	other := <-loops
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		o := &repetition{own: rondo.NewFuture[int](ctx), task: rondo.Go(ctx, forever)}
		o.future = rondo.Submit(other, func(ctx context.Context) (int, error) { return 0, forever(ctx) })
		// The other loop has it when it answers to what comes after it.
		if _, err := rondo.Submit(other, one).Wait(ctx); err != nil {
			return err
		}
		for name, do := range repeated {
			var after [3]int64
			for i := range after {
				for range n {
					if err := do(ctx, o); err != nil {
						t.Errorf("%s: %v", name, err)
						return nil
					}
				}
				// The other loop has taken what was posted to it, and this one too.
				if _, err := rondo.Submit(other, one).Wait(ctx); err != nil {
					return err
				}
				after[i], _ = held()
			}
			if grown := after[2] - after[1]; grown > n/4 {
				t.Errorf("%s: %d objects after %d times, %d after %d", name, after[1], 2*n, after[2], 3*n)
			}
		}
		o.task.Cancel(nil)
		return nil
	})
	close(over)
	if err := errors.Join(err, <-ended); err != nil {
		t.Error(err)
	}
}

// TestGenerations: a task that starts its successor with its own ctx and ends leaves
// nothing, however often that is repeated.
func TestGenerations(t *testing.T) {
	const n = 5000
	var after [3]int64
	var last rondo.Event
	var start func(ctx context.Context, i int)
	start = func(ctx context.Context, i int) {
		rondo.Go(ctx, func(ctx context.Context) error {
			if i%n == 0 {
				after[i/n-1], _ = held()
			}
			if i == len(after)*n {
				last.Set()
				return nil
			}
			start(ctx, i+1)
			return nil
		})
	}
	run(t, func(ctx context.Context) error {
		start(ctx, 1)
		return last.Wait(ctx)
	})
	if grown := after[2] - after[1]; grown > n/4 {
		t.Errorf("%d objects after %d generations, %d after %d", after[1], 2*n, after[2], 3*n)
	}
}

// TestSurplusAsRunWakes: workers become surplus in the turn in which Run itself is ready to go on.
// Only its goroutine may retire them, so they wait until it runs.
func TestSurplusAsRunWakes(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range 100 {
				g.Go(func(ctx context.Context) error { return rondo.Sleep(ctx, time.Duration(1+i%2)*time.Second) })
			}
			return nil
		})
		for range 2 { // idle for half a second; then Run is ready in the turn that notices it
			err = errors.Join(err, rondo.Sleep(ctx, time.Second/2))
		}
		if err != nil {
			t.Error(err)
		}
	})
}

// TestBurstIsGivenBack: after n tasks that were started at once and waited, and after
// twice as many, the loop has few workers, and as much memory.
func TestBurstIsGivenBack(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var bytes [2]int64
		for i, n := range []int{10_000, 20_000} {
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				for range n {
					g.Go(func(ctx context.Context) error { return rondo.Sleep(ctx, time.Microsecond) })
				}
				return nil
			})
			if err != nil {
				return err
			}
			for range 4 * n { // surplus workers are retired one a switch
				rondo.Go(ctx, nothing)
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
			}
			if workers := rondo.LoopOf(ctx).Stats().Workers; workers > 500 {
				t.Errorf("%d workers are left of %d tasks", workers, n)
			}
			_, bytes[i] = held()
		}
		if grown := bytes[1] - bytes[0]; grown > 100_000 {
			t.Errorf("%d bytes more are in use after twice as many tasks", grown)
		}
		return nil
	})
}
