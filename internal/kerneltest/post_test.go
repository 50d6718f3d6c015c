package kerneltest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestPostLosesNothing: what was accepted from many goroutines runs, each
// goroutine's in its order, also while the loop ends; what was not, does not.
func TestPostLosesNothing(t *testing.T) {
	for range 20 {
		const senders = 8
		var accepted, ran [senders]int
		var wg sync.WaitGroup
		err := rondo.Run(t.Context(), func(ctx context.Context) error {
			l := rondo.LoopOf(ctx)
			for s := range senders {
				wg.Go(func() {
					for i := 0; ; i++ {
						err := l.Post(func() {
							if ran[s] != i {
								t.Errorf("sender %d: %d ran when %d was due", s, i, ran[s])
							}
							ran[s]++
						})
						if err != nil {
							if !errors.Is(err, rondo.ErrLoopClosed) {
								t.Error(err)
							}
							return
						}
						accepted[s]++
					}
				})
			}
			for l.Stats().Posts < 1000 {
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
			}
			return nil
		})
		wg.Wait()
		if err != nil || accepted != ran {
			t.Errorf("Run returned %v; accepted %v, ran %v", err, accepted, ran)
		}
	}
}

func TestSubmit(t *testing.T) {
	var l *rondo.Loop
	started, stop := make(chan bool), make(chan bool)
	ended := make(chan error)
	go func() {
		ended <- rondo.Run(context.Background(), func(ctx context.Context) error {
			l = rondo.LoopOf(ctx)
			close(started)
			_, _, err := receive(ctx, stop)
			return err
		})
	}()
	<-started
	ctx := context.Background()
	f := rondo.Submit(l, func(ctx context.Context) (string, error) {
		return rondo.Current(ctx).Name(), rondo.Sleep(ctx, time.Microsecond)
	})
	if v, err := f.Wait(ctx); v != f.Task().Name() || err != nil {
		t.Errorf("a submitted function returned %q, %v", v, err)
	}
	task, _ := rondo.Submit(l, func(ctx context.Context) (*rondo.Task, error) { return rondo.Go(ctx, forever), nil }).Wait(ctx)
	if _, err := rondo.Submit(l, func(context.Context) (int, error) { return 0, errBroken }).Wait(ctx); err != errBroken {
		t.Errorf("one that fails: %v", err)
	}
	over, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	waiting := rondo.Submit(l, func(ctx context.Context) (int, error) { return 0, forever(ctx) })
	if _, err := waiting.Wait(over); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting with a deadline: %v", err)
	}
	if err := task.Wait(over); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for the task with a deadline: %v", err)
	}
	close(stop)
	// The loop's end cancels it, and that is its result.
	if err := task.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("after the loop's end its task has the error %v", err)
	}
	if _, err := waiting.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("after the loop's end: %v", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := rondo.Submit(l, func(context.Context) (int, error) { panic("ran") }).Wait(ctx); !errors.Is(err, rondo.ErrLoopClosed) {
		t.Errorf("Submit to a loop that has ended: %v", err)
	}
	if err := l.Post(func() { panic("ran") }); !errors.Is(err, rondo.ErrLoopClosed) {
		t.Errorf("Post to a loop that has ended: %v", err)
	}
}

// receive waits for a value of a channel on a goroutine.
func receive[T any](ctx context.Context, ch <-chan T) (v T, ok bool, err error) {
	_, err = rondo.Offload(ctx, func(context.Context) (int, error) {
		v, ok = <-ch
		return 0, nil
	})
	return v, ok, err
}

// TestWaitAcrossLoops: a task may wait for a task and a future of another loop,
// and is suspended like by any wait.
func TestWaitAcrossLoops(t *testing.T) {
	var there *rondo.Loop
	ready, stop := make(chan bool), make(chan bool)
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = rondo.Run(context.Background(), func(ctx context.Context) error {
			there = rondo.LoopOf(ctx)
			close(ready)
			_, _, err := receive(ctx, stop)
			return err
		})
	})
	<-ready
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		// It ends only after a task here has run while another waits for it.
		release := make(chan bool)
		f := rondo.Submit(there, func(ctx context.Context) (int, error) {
			_, _, err := receive(ctx, release)
			return 7, err
		})
		rondo.Go(ctx, func(ctx context.Context) error { close(release); return nil })
		if v, err := f.Wait(ctx); v != 7 || err != nil {
			t.Errorf("Future.Wait: %d, %v", v, err)
		}
		if err := f.Task().Wait(ctx); err != nil {
			t.Errorf("Task.Wait: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	close(stop)
	wg.Wait()
}

func TestFuture(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		f := rondo.NewFuture[int](ctx)
		if _, err := f.Result(); f.Done() || err != rondo.ErrNotDone || f.Task() != nil {
			t.Errorf("a fresh Future: %v", err)
		}
		var got []int
		calls := 0
		f.OnDone(func() { calls++ })
		stop := f.OnDone(func() { t.Error("a stopped callback ran") })
		if !stop() || stop() {
			t.Error("stop does not report what it did")
		}
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 3 {
				g.Go(func(ctx context.Context) error {
					v, err := f.Wait(ctx)
					got = append(got, v)
					return err
				})
			}
			cancelled := g.Go(func(ctx context.Context) error { _, err := f.Wait(ctx); return err })
			if err := rondo.Sleep(g, time.Second); err != nil {
				return err
			}
			cancelled.Cancel(errBroken)
			if err := cancelled.Wait(g); err != errBroken {
				t.Errorf("a cancelled wait returned %v", err)
			}
			if !f.Set(7) || f.Set(8) || f.Fail(errBroken) {
				t.Error("a Future was set twice")
			}
			if calls != 0 {
				t.Error("OnDone ran inside Set")
			}
			return nil
		})
		if err != nil || fmt.Sprint(got) != "[7 7 7]" {
			t.Errorf("Group returned %v, the waits %v", err, got)
		}
		f.OnDone(func() { calls++ })
		if err := rondo.Sleep(ctx, 1); err != nil || calls != 2 {
			t.Errorf("%v; %d of 2 callbacks ran", err, calls)
		}
		a := rondo.Async(ctx, func(ctx context.Context) (string, error) { return "x", errBroken })
		if v, err := a.Wait(ctx); v != "x" || err != errBroken || a.Task().Err() != errBroken {
			t.Errorf("Async: %q, %v", v, err)
		}
	})
}

// TestFutureFromGoroutines sets and reads a Future on goroutines at once: one
// Set wins, and everybody sees its value.
func TestFutureFromGoroutines(t *testing.T) {
	for range 50 {
		run(t, func(ctx context.Context) error {
			f := rondo.NewFuture[int](ctx)
			var won, value atomic.Int64
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() {
					if f.Set(i + 1) {
						won.Add(1)
						value.Store(int64(i + 1))
					}
				})
				wg.Go(func() {
					if v, err := f.Wait(context.Background()); v == 0 || err != nil {
						t.Errorf("a goroutine got %d, %v", v, err)
					}
				})
			}
			v, err := f.Wait(ctx)
			wg.Wait()
			if won.Load() != 1 || int64(v) != value.Load() {
				t.Errorf("%d Sets won, the task got %d, the winner set %d", won.Load(), v, value.Load())
			}
			return err
		})
	}
}

func TestGather(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		after := func(d time.Duration, v int, err error) func(context.Context) (int, error) {
			return func(ctx context.Context) (int, error) {
				if e := rondo.Sleep(ctx, d*time.Second); e != nil {
					return 0, e
				}
				return v, err
			}
		}
		got, err := rondo.Gather(ctx, after(3, 1, nil), after(1, 2, nil), after(2, 3, nil))
		if fmt.Sprint(got) != "[1 2 3]" || err != nil {
			t.Errorf("Gather: %v, %v", got, err)
		}
		start := rondo.Now(ctx)
		got, err = rondo.Gather(ctx, after(3600, 1, nil), after(1, 2, errBroken))
		if got != nil || err != errBroken || rondo.Now(ctx).Sub(start) != time.Second {
			t.Errorf("Gather with a failure: %v, %v after %v", got, err, rondo.Now(ctx).Sub(start))
		}
		if got, err := rondo.Gather[int](ctx); len(got) != 0 || err != nil {
			t.Errorf("Gather of nothing: %v, %v", got, err)
		}
	})
}

func TestOffload(t *testing.T) {
	run(t, func(ctx context.Context) error {
		v, err := rondo.Offload(ctx, func(ctx context.Context) (string, error) {
			if rondo.Current(ctx) != nil {
				t.Error("an offloaded function is taken for a task")
			}
			if err := rondo.Yield(ctx); !errors.Is(err, rondo.ErrNoLoop) {
				t.Errorf("Yield in an offloaded function: %v", err)
			}
			return "v", errBroken
		})
		if v != "v" || err != errBroken {
			t.Errorf("Offload: %q, %v", v, err)
		}
		func() {
			defer func() {
				if p, ok := recover().(*rondo.PanicError); !ok || p.Value != "oops" {
					t.Errorf("recovered %v", p)
				}
			}()
			_, _ = rondo.Offload(ctx, func(context.Context) (int, error) { explode(); return 0, nil })
		}()
		if _, err := rondo.Offload(ctx, func(context.Context) (int, error) { runtime.Goexit(); return 1, nil }); err == nil {
			t.Error("a Goexit in an offloaded function is no error")
		}
		return nil
	})
}

// TestOffloadCancelled: the task goes on at once; the function is told by its
// ctx, and its result is dropped.
func TestOffloadCancelled(t *testing.T) {
	gone := make(chan error, 1)
	run(t, func(ctx context.Context) error {
		v, err := func() (v int, err error) {
			err = rondo.Timeout(ctx, time.Millisecond, func(ctx context.Context) error {
				v, err = rondo.Offload(ctx, func(ctx context.Context) (int, error) {
					<-ctx.Done()
					gone <- context.Cause(ctx)
					return 1, nil
				})
				return err
			})
			return v, err
		}()
		if v != 0 || err != context.DeadlineExceeded {
			t.Errorf("Offload: %d, %v", v, err)
		}
		return nil
	})
	if err := <-gone; err != context.DeadlineExceeded {
		t.Errorf("the function saw %v", err)
	}
}

// TestOffloadIsBounded: no more run at once than Threads says, and all get
// their turn, also when some that wait are cancelled.
func TestOffloadIsBounded(t *testing.T) {
	var running, most, ran atomic.Int64
	r := rondo.Runner{Threads: 3}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range 40 {
				task := g.Go(func(ctx context.Context) error {
					_, err := rondo.Offload(ctx, func(context.Context) (int, error) {
						n := running.Add(1)
						for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
						}
						runtime.Gosched()
						ran.Add(1)
						running.Add(-1)
						return 0, nil
					})
					return err
				})
				if i%4 == 3 {
					if err := rondo.Yield(g); err != nil {
						return err
					}
					task.Cancel(nil)
				}
			}
			return nil
		})
	})
	if err != nil || most.Load() > 3 || ran.Load() < 30 {
		t.Errorf("Run returned %v; %d ran at once, %d in all", err, most.Load(), ran.Load())
	}
}
