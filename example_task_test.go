package rondo_test

// These examples are about tasks, futures, the loop and its clock.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/rondo-go/rondo"
)

// A task belongs to the scope of its ctx, which waits for it.
func ExampleGo() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		t := rondo.Go(ctx, func(ctx context.Context) error {
			fmt.Println("the task runs when its starter waits")
			return errors.New("disk full")
		})
		fmt.Println("started")
		fmt.Println(t.Wait(ctx))
		return nil
	})
	// Output:
	// started
	// the task runs when its starter waits
	// disk full
}

// Names are for people: rondo tree, logs, reports of deadlocks.
func ExampleTask_SetName() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		t := rondo.Go(ctx, func(ctx context.Context) error {
			fmt.Println(rondo.Current(ctx).Name())
			return nil
		})
		t.SetName("conn 10.0.0.7")
		return t.Wait(ctx)
	})
	// Output: conn 10.0.0.7
}

func ExampleCurrent() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		main := rondo.Current(ctx)
		t := rondo.Go(ctx, func(ctx context.Context) error {
			fmt.Println(rondo.Current(ctx) == main)
			return nil
		})
		return t.Wait(ctx)
	})
	// Output: false
}

// Each wait of a cancelled task fails with the cause.
func ExampleTask_Cancel() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		t := rondo.Go(ctx, rondo.WaitCanceled)
		t.Cancel(errors.New("not needed any more"))
		fmt.Println(t.Wait(ctx))
		return nil
	})
	// Output: not needed any more
}

// With a nil cause a group ends without an error.
func ExampleScope_Cancel() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				defer fmt.Println("the helper has ended")
				return rondo.Sleep(ctx, time.Hour)
			})
			defer g.Cancel(nil) // the helper is not needed when the body is done
			return rondo.Yield(g)
		})
		fmt.Println(err)
		return nil
	})
	// Output:
	// the helper has ended
	// <nil>
}

// A Future that another goroutine sets.
func ExampleNewFuture() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		answer := rondo.NewFuture[int](ctx)
		go func() { answer.Set(42) }()
		n, err := answer.Wait(ctx)
		fmt.Println(n, err, answer.Set(43))
		return nil
	})
	// Output: 42 <nil> false
}

// The tasks of a loop, and what they wait for.
func ExampleTasks() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		accounts := rondo.Mutex{Name: "accounts"}
		accounts.TryLock()
		rondo.Go(ctx, func(ctx context.Context) error { return accounts.Lock(ctx) }).SetName("transfer")
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		for _, t := range rondo.Tasks(ctx) {
			if t.State == "waiting" {
				fmt.Println(t.Name, "waits for", t.Waiting, t.Of)
			}
		}
		return nil
	})
	// Output:
	// transfer waits for lock accounts
}

// A goroutine that keeps the loop can hand functions to it.
func ExampleLoopOf() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		loop, done := rondo.LoopOf(ctx), new(rondo.Event)
		go func() {
			if err := loop.Post(done.Set); err != nil { // on the loop
				fmt.Println(err) // it has ended
			}
		}()
		err := done.Wait(ctx)
		fmt.Println(err)
		return nil
	})
	// Output: <nil>
}

// A callback is for what does not wait.
func ExampleLoop_CallLater() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		var rung rondo.Event
		h := rondo.LoopOf(ctx).CallLater(time.Millisecond, rung.Set)
		err := rung.Wait(ctx)
		fmt.Println(err, h.Cancel()) // too late to cancel it
		return nil
	})
	// Output: <nil> false
}

// A tracer that counts the steps of each task.
func ExampleTracer() {
	steps := map[string]int{}
	runner := rondo.Runner{Tracer: &rondo.Tracer{
		Stepped: func(t *rondo.Task, at time.Time) { steps[t.Name()]++ },
	}}
	_ = runner.Run(context.Background(), func(ctx context.Context) error {
		t := rondo.Go(ctx, rondo.Yield)
		t.SetName("helper")
		return t.Wait(ctx)
	})
	fmt.Println(steps["helper"])
	// Output: 2
}

// A task that sleeps lets others run. Its Sleep fails if it is cancelled.
func ExampleSleep() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		t := rondo.Go(ctx, func(ctx context.Context) error {
			err := rondo.Sleep(ctx, time.Hour)
			fmt.Println("sleep:", err)
			return err
		})
		if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
			return err
		}
		t.Cancel(errors.New("it is late"))
		fmt.Println("task:", t.Wait(ctx))
		return nil
	})
	// Output:
	// sleep: it is late
	// task: it is late
}

func ExampleSleepUntil() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		next := rondo.Now(ctx).Add(time.Millisecond)
		if err := rondo.SleepUntil(ctx, next); err != nil {
			return err
		}
		fmt.Println(rondo.Now(ctx).Before(next))
		return nil
	})
	// Output: false
}

// Now is the loop's clock, which package sim can simulate. time.Now is not simulated.
func ExampleNow() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		start := rondo.Now(ctx)
		err := rondo.Sleep(ctx, 2*time.Millisecond)
		fmt.Println(rondo.Now(ctx).Sub(start) >= 2*time.Millisecond)
		return err
	})
	// Output: true
}

// A task that computes for long calls Yield from time to time.
func ExampleYield() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		other := rondo.Go(ctx, func(ctx context.Context) error {
			fmt.Println("the other one runs")
			return nil
		})
		for part := range 2 {
			fmt.Println("part", part)
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
		}
		return other.Wait(ctx)
	})
	// Output:
	// part 0
	// the other one runs
	// part 1
}

// Check ends a computation that has nothing to wait for, if its scope is cancelled.
// tickets are handed out until there are none; then tasks wait for more.
type tickets struct {
	left    int
	waiting rondo.WaitList // a task that is woken has got one
}

func (t *tickets) take(ctx context.Context) error {
	if t.left > 0 {
		if err := rondo.Checkpoint(ctx); err != nil {
			return err
		}
	}
	if t.left == 0 { // also if others have taken the last one meanwhile
		return t.waiting.Park(ctx, rondo.Reason{What: "ticket"})
	}
	t.left--
	return nil
}

// An operation that hardly ever waits: the Timeout around it gets its turn all the same.
func ExampleCheckpoint() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		all := tickets{left: math.MaxInt}
		err := rondo.Timeout(ctx, time.Millisecond, func(ctx context.Context) error {
			for {
				if err := all.take(ctx); err != nil {
					return err
				}
			}
		})
		fmt.Println(err)
		return nil
	})
	// Output:
	// context deadline exceeded
}

func ExampleCheck() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		err := rondo.Timeout(ctx, -time.Second, func(ctx context.Context) error {
			for n := 0; ; n++ {
				if err := rondo.Check(ctx); err != nil {
					fmt.Println("after", n, "steps")
					return err
				}
			}
		})
		fmt.Println(err)
		return nil
	})
	// Output:
	// after 0 steps
	// context deadline exceeded
}

func ExampleDeadline() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		end := rondo.Now(ctx).Add(time.Millisecond)
		err := rondo.Deadline(ctx, end, func(ctx context.Context) error {
			return rondo.WaitCanceled(ctx)
		})
		fmt.Println(err)
		return nil
	})
	// Output: context deadline exceeded
}

// Only the end of the Timeout is handled here. If it was the end of ctx, the error is
// passed on.
func ExampleTimedOut() {
	ask := func(ctx context.Context) (string, error) {
		answer := ""
		err := rondo.Timeout(ctx, time.Millisecond, func(ctx context.Context) error {
			err := rondo.Sleep(ctx, time.Hour)
			answer = "42"
			return err
		})
		if rondo.TimedOut(ctx, err) {
			return "no answer in time", nil
		}
		return answer, err
	}
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		answer, err := ask(ctx)
		fmt.Println(answer, err)
		return nil
	})
	// Output: no answer in time <nil>
}

// A Select with a time limit.
func ExampleAfter() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		var stop rondo.Event
		i, err := rondo.Select(ctx, stop.WaitCase(), rondo.After(time.Millisecond))
		fmt.Println(i, err)
		return nil
	})
	// Output: 1 <nil>
}
