package kerneltest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/sim"
)

// TestPanicInBodyEndsTheTasksFirst: a panic leaves a scope when the tasks of the
// scope have ended.
func TestPanicInBodyEndsTheTasksFirst(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		ended := false
		func() {
			defer func() {
				if v := recover(); v != "oops" || !ended {
					t.Errorf("recovered %v; the task has ended: %v", v, ended)
				}
			}()
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(ctx context.Context) error {
					defer func() { ended = true }()
					return forever(ctx)
				})
				if err := rondo.Yield(g); err != nil {
					return err
				}
				panic("oops")
			})
		}()
		if err := errors.Join(rondo.Yield(ctx), kernel.Of(ctx).Task().Check()); err != nil {
			t.Errorf("after the recovery a wait, or a read of a connection, fails: %v", err)
		}
	})
}

// TestManyBelowATaskThatEnded: what a task has started lives on below the scopes around it. How
// many they are, and how many of these scopes have ended meanwhile, makes no difference.
func TestManyBelowATaskThatEnded(t *testing.T) {
	for _, many := range []int{1, 3, 20} {
		for _, how := range []string{"cancel", "deadline", "one by one"} {
			sim.Test(t, func(ctx context.Context) {
				var tasks []*rondo.Task
				start := func(ctx context.Context) {
					for range many {
						tasks = append(tasks, rondo.Go(ctx, rondo.WaitCanceled))
					}
				}
				err := rondo.Timeout(ctx, time.Hour, func(ctx context.Context) error {
					var inner *rondo.Task
					outer := rondo.Go(ctx, func(ctx context.Context) error {
						start(ctx)
						inner = rondo.Go(ctx, func(ctx context.Context) error { start(ctx); return nil })
						return inner.Wait(ctx)
					})
					if err := outer.Wait(ctx); err != nil {
						return err
					}
					inner.Cancel(errStop)
					outer.Cancel(errStop) // they have ended, so it does nothing
					_ = rondo.Sleep(ctx, time.Minute)
					for i, task := range tasks {
						if task.Done() {
							t.Errorf("%s, %d: task %d was cancelled with a task that had ended", how, many, i)
						}
					}
					switch how {
					case "cancel":
						ctx.(*rondo.Scope).Cancel(errStop)
					case "one by one":
						for _, task := range tasks {
							task.Cancel(errStop)
							_ = task.Wait(ctx)
						}
						start(ctx)
						ctx.(*rondo.Scope).Cancel(errStop)
					}
					return nil
				})
				want := map[string]error{"cancel": errStop, "deadline": context.DeadlineExceeded, "one by one": errStop}[how]
				if !errors.Is(err, want) {
					t.Errorf("%s, %d: Timeout returned %v", how, many, err)
				}
				for i, task := range tasks {
					if !errors.Is(task.Err(), want) {
						t.Errorf("%s, %d: task %d ended with %v", how, many, i, task.Err())
					}
				}
			})
		}
	}
}
