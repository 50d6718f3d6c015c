package kerneltest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// otherLoop runs main on a loop of its own, and returns what Run did.
func otherLoop(main func(ctx context.Context) error) (ended chan error) {
	ended = make(chan error, 1)
	go func() { ended <- rondo.Run(context.Background(), main) }()
	return ended
}

// TestWaitForAnotherLoop has a task wait for a task and a Future of another loop.
func TestWaitForAnotherLoop(t *testing.T) {
	failure := errors.New("failure")
	task, future := make(chan *rondo.Task, 1), make(chan *rondo.Future[int], 1)
	ended := otherLoop(func(ctx context.Context) error {
		task <- rondo.Go(ctx, func(ctx context.Context) error {
			_ = rondo.Sleep(ctx, time.Millisecond)
			return failure
		})
		f := rondo.Async(ctx, func(ctx context.Context) (int, error) { return 7, rondo.Sleep(ctx, time.Millisecond) })
		future <- f
		_, err := f.Wait(ctx)
		return err
	})
	tk, f := <-task, <-future
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		if err := tk.Wait(ctx); err != failure {
			t.Errorf("Task.Wait returned %v", err)
		}
		v, err := f.Wait(ctx)
		if v != 7 {
			t.Errorf("Future.Wait returned %d", v)
		}
		return err
	})
	if err := errors.Join(err, <-ended); err != nil {
		t.Error(err)
	}
}

// TestAsCompletedOfAnotherLoop: a range over a Future of another loop panics, and WaitAny of its
// task fails. They would change what belongs to that loop.
func TestAsCompletedOfAnotherLoop(t *testing.T) {
	future, end := make(chan *rondo.Future[int], 1), make(chan bool)
	ended := otherLoop(func(ctx context.Context) error {
		future <- rondo.Async(ctx, func(ctx context.Context) (int, error) { _, _, err := rondo.Receive(ctx, end); return 1, err })
		_, _, err := rondo.Receive(ctx, end)
		return err
	})
	f := <-future
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		panics(t, "rondo: AsCompleted: the object belongs to another loop than the ctx", func() {
			for range rondo.AsCompleted(ctx, f) {
			}
		})
		_, err := rondo.WaitAny(ctx, rondo.Go(ctx, rondo.Check), f.Task())
		if !strings.HasPrefix(fmt.Sprint(err), "rondo: WaitAny: the object belongs to another loop than the ctx") {
			t.Errorf("WaitAny returned %v", err)
		}
		return nil
	})
	close(end)
	if err := errors.Join(err, <-ended); err != nil {
		t.Error(err)
	}
}

// TestWaitForEndedLoop waits for a Future that nobody sets, on a goroutine and on
// a task of another loop, while its loop ends: both learn that. And a task that
// has ended gives its error to both, also when its loop has ended.
func TestWaitForEndedLoop(t *testing.T) {
	failure := errors.New("failure")
	future, task := make(chan *rondo.Future[int], 1), make(chan *rondo.Task, 1)
	end := make(chan bool)
	ended := otherLoop(func(ctx context.Context) error {
		future <- rondo.NewFuture[int](ctx)
		tk := rondo.Go(ctx, func(ctx context.Context) error { return failure })
		_ = tk.Wait(ctx)
		task <- tk
		_, _, err := rondo.Receive(ctx, end)
		return err
	})
	f, tk := <-future, <-task
	var goroutine sync.WaitGroup
	goroutine.Go(func() {
		if _, err := f.Wait(context.Background()); !errors.Is(err, rondo.ErrLoopClosed) {
			t.Errorf("a goroutine got %v", err)
		}
	})
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		waiting := rondo.Go(ctx, func(ctx context.Context) error {
			_, err := f.Wait(ctx)
			return err
		})
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		close(end)
		if err := waiting.Wait(ctx); !errors.Is(err, rondo.ErrLoopClosed) {
			t.Errorf("a task that waited got %v", err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if _, err := f.Wait(ctx); !errors.Is(err, rondo.ErrLoopClosed) {
			t.Errorf("a task that came later got %v", err)
		}
		if err := tk.Wait(ctx); err != failure {
			t.Errorf("a task got %v from a task that has ended", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	goroutine.Wait()
	// Several goroutines at once: the race detector looks.
	for range 4 {
		goroutine.Go(func() {
			if err := tk.Wait(context.Background()); err != failure {
				t.Errorf("a goroutine got %v from a task that has ended", err)
			}
		})
	}
	goroutine.Wait()
}

// TestCancelOfSubmitted cancels what was submitted, from the goroutine that did it,
// before and after the loop has started it.
func TestCancelOfSubmitted(t *testing.T) {
	why := errors.New("enough")
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		l := rondo.LoopOf(ctx)
		_, err := rondo.Offload(ctx, func(context.Context) (int, error) {
			for range 50 {
				f := rondo.Submit(l, func(ctx context.Context) (int, error) { return 0, forever(ctx) })
				f.Cancel(why)
				if _, err := f.Wait(context.Background()); err != why {
					t.Errorf("the Future has %v", err)
				}
			}
			return 0, nil
		})
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestCancelOfFuture: the first Cancel of a Future cancels its task, also if that has not been
// started yet; a Future without a task fails. A result stays.
func TestCancelOfFuture(t *testing.T) {
	waits := func(ctx context.Context) (int, error) { return 0, forever(ctx) }
	for name, make := range map[string]func(ctx context.Context) *rondo.Future[int]{
		"Async":     func(ctx context.Context) *rondo.Future[int] { return rondo.Async(ctx, waits) },
		"Submit":    func(ctx context.Context) *rondo.Future[int] { return rondo.Submit(rondo.LoopOf(ctx), waits) },
		"NewFuture": rondo.NewFuture[int],
	} {
		sim.Test(t, func(ctx context.Context) {
			for range 2 { // at once, and when the task waits
				f := make(ctx)
				f.Cancel(errStop)
				f.Cancel(errBroken)
				if _, err := f.Wait(ctx); err != errStop {
					t.Errorf("%s: a Future that was cancelled has %v", name, err)
				}
				late := make(ctx)
				_ = rondo.Sleep(ctx, 1)
				late.Cancel(nil)
				if _, err := late.Wait(ctx); err != context.Canceled {
					t.Errorf("%s: a Future that was cancelled without a cause has %v", name, err)
				}
				done := make(ctx)
				done.Set(7)
				done.Cancel(errStop)
				if v, err := done.Result(); v != 7 || err != nil {
					t.Errorf("%s: a Future with a result has %d, %v after Cancel", name, v, err)
				}
			}
		})
	}
}

// TestErrorForAnotherLoop: OnError does not get the error of a task, or of an Async, that a task of
// another loop waits for, even if the loop learns of the wait only at its end, and that task goes
// on only after the end.
func TestErrorForAnotherLoop(t *testing.T) {
	for name, wait := range map[string]func(ctx context.Context, f *rondo.Future[int]) error{
		"Future.Wait": func(ctx context.Context, f *rondo.Future[int]) error { _, err := f.Wait(ctx); return err },
		"Select":      func(ctx context.Context, f *rondo.Future[int]) error { return selects(f.WaitCase())(ctx) },
		"Task.Wait":   func(ctx context.Context, f *rondo.Future[int]) error { return f.Task().Wait(ctx) },
	} {
		future, waits, ended := make(chan *rondo.Future[int], 1), make(chan bool), make(chan error, 1)
		go func() {
			r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { t.Errorf("%s: OnError got %v", name, err) }}
			ended <- r.Run(context.Background(), func(ctx context.Context) error {
				future <- rondo.Async(ctx, func(ctx context.Context) (int, error) { return 0, errBroken })
				<-waits // the loop stands still meanwhile
				return nil
			})
		}()
		f := <-future
		run(t, func(ctx context.Context) error {
			waiting := rondo.Go(ctx, func(ctx context.Context) error { return wait(ctx, f) })
			until(ctx, func() bool { return waiting.Info().State == "waiting" })
			close(waits)
			if err := <-ended; err != nil { // and so does this one
				t.Error(err)
			}
			if err := waiting.Wait(ctx); err != errBroken {
				t.Errorf("%s returned %v", name, err)
			}
			return nil
		})
	}
}

// TestEndKeepsOrder: what waits for a task goes on at its end, but behind what was ready
// before, and those that wait go on in the order in which they came.
func TestEndKeepsOrder(t *testing.T) {
	for _, busy := range []bool{false, true} {
		var order []string
		note := func(what string) func(context.Context) error {
			return func(context.Context) error { order = append(order, what); return nil }
		}
		run(t, func(ctx context.Context) error {
			var end rondo.Event
			f := rondo.Async(ctx, func(ctx context.Context) (int, error) {
				err := end.Wait(ctx)
				if busy {
					rondo.Go(ctx, note("ready before"))
				}
				return 0, err
			})
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(ctx context.Context) error {
					err := f.Task().Wait(ctx)
					return errors.Join(err, note("joiner")(ctx))
				})
				g.Go(func(ctx context.Context) error {
					_, err := f.Wait(ctx)
					return errors.Join(err, note("waiter")(ctx))
				})
				must(rondo.Yield(ctx))
				f.OnDone(func() { order = append(order, "callback") })
				f.Task().OnDone(func() { order = append(order, "task's callback") })
				end.Set()
				return nil
			})
		})
		want := []string{"joiner", "waiter", "callback", "task's callback"}
		if busy {
			want = append([]string{"ready before"}, want...)
		}
		if !slices.Equal(order, want) {
			t.Errorf("busy %t: %q, want %q", busy, order, want)
		}
	}
}

// TestCallbackBeforeGroup: a callback of a Future that is done runs before the Group goes
// on that the end of the Future's task has emptied, since that becomes ready later. A loop
// that is not busy hands over to what waits for the end past its queue, so it is tried often.
func TestCallbackBeforeGroup(t *testing.T) {
	run(t, func(ctx context.Context) error {
		for range 100 {
			called := false
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				rondo.Async(g, func(ctx context.Context) (int, error) {
					return 0, rondo.Yield(ctx)
				}).OnDone(func() { called = true })
				return nil
			})
			if err != nil || !called {
				t.Fatalf("the Group has ended with %v, and the callback has run: %t", err, called)
			}
		}
		return nil
	})
}

// TestTasksOfEachOther: two loops list each other's tasks, again and again; a task that waits
// for the other loop's answer is suspended, so neither loop waits for the other one.
func TestTasksOfEachOther(t *testing.T) {
	var ctxs [2]chan context.Context
	for i := range ctxs {
		ctxs[i] = make(chan context.Context, 1)
	}
	var others atomic.Int32 // steps that tasks of a loop made while its main task listed
	loop := func(i int) error {
		return rondo.Run(t.Context(), func(ctx context.Context) error {
			ctxs[i] <- ctx
			their, _, err := rondo.Receive(ctx, ctxs[1-i])
			if err != nil {
				return err
			}
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				listing := true
				g.Go(func(ctx context.Context) error {
					for listing {
						others.Add(1)
						if err := rondo.Yield(ctx); err != nil {
							return err
						}
					}
					return nil
				})
				for range 100 {
					if tasks := rondo.Tasks(their); len(tasks) > 0 && tasks[0].Name != "main" {
						t.Errorf("the first task is %+v", tasks[0])
					}
				}
				listing = false
				return nil
			})
		})
	}
	first := make(chan error)
	go func() { first <- loop(0) }()
	if err := errors.Join(loop(1), <-first); err != nil || others.Load() == 0 {
		t.Errorf("the loops ended with %v; others made %d steps", err, others.Load())
	}
}

// TestSeenFromAnotherLoop: a task lists the tasks of another loop, and a wait for one of them names
// that loop.
func TestSeenFromAnotherLoop(t *testing.T) {
	type main struct {
		ctx  context.Context
		task *rondo.Task
		id   uint64
	}
	begun, over, ended := make(chan main, 1), make(chan bool), make(chan error, 1)
	go func() {
		other := &rondo.Runner{Name: "other"}
		ended <- other.Run(context.Background(), func(ctx context.Context) error {
			main := main{ctx, rondo.Current(ctx), 0}
			main.id = main.task.ID()
			begun <- main
			_, _, err := rondo.Receive(ctx, over)
			return err
		})
	}()
	their := <-begun
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		if tasks := rondo.Tasks(their.ctx); len(tasks) != 1 || tasks[0].Name != "main" || tasks[0].Loop != "other" {
			t.Errorf("the tasks of the other loop: %+v", tasks)
		}
		waits := rondo.Go(ctx, their.task.Wait)
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		if info := waits.Info(); info.Waiting != "another loop" || info.Of != fmt.Sprintf("other #%d", their.id) {
			t.Errorf("it waits for %s of %q", info.Waiting, info.Of)
		}
		return nil
	})
	close(over)
	if err := errors.Join(err, <-ended); err != nil {
		t.Error(err)
	}
}

// TestWaitForTaskThatNeverBegan: who waits for a task that a hook has started when the loop runs no
// more tasks is told that the loop has ended.
func TestWaitForTaskThatNeverBegan(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Log("this system has no /dev/full")
		return
	}
	t.Setenv("RONDO_TRACE", "/dev/full") // that the timeline is incomplete is reported last
	var root context.Context
	var late *rondo.Task
	r := rondo.Runner{OnError: func(rondo.TaskInfo, error) { late = rondo.Go(root, forever) }}
	if err := r.Run(t.Context(), func(ctx context.Context) error { root = ctx; return rondo.Yield(ctx) }); err != nil {
		t.Fatal(err)
	}
	if err := late.Wait(context.Background()); !errors.Is(err, rondo.ErrLoopClosed) {
		t.Errorf("Wait returned %v", err)
	}
}
