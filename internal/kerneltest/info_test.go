package kerneltest_test

import (
	"context"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
)

// TestInfoAtTheEnd: a task whose function has returned shows what it still waits for.
func TestInfoAtTheEnd(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		cleanUp := func(ctx context.Context) error {
			return rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Minute) })
		}
		for _, c := range []struct {
			waiting string
			serving bool
			fn      func(ctx context.Context) error
		}{
			{"group", false, func(ctx context.Context) error {
				return rondo.Group(ctx, func(g *rondo.Scope) error { g.Go(cleanUp); return nil })
			}},
			{"started tasks", true, func(ctx context.Context) error { rondo.Go(ctx, cleanUp); return nil }},
			{"pull", false, func(ctx context.Context) error {
				next, _ := rondo.Pull(ctx, func(yield func(int) bool) { yield(1); _ = cleanUp(ctx) })
				next()
				return nil
			}},
		} {
			task := rondo.Go(ctx, c.fn)
			if c.serving {
				kernel.Of(ctx).SetServing(task)
			}
			_ = rondo.Sleep(ctx, time.Second)
			info, started := task.Info(), rondo.Tasks(ctx)[2].ID
			if info.State != "waiting" || info.Waiting != c.waiting {
				t.Errorf("the task is %s for %s, want it to wait for %s", info.State, info.Waiting, c.waiting)
			}
			if c.waiting == "pull" && (info.On != started || info.Owner != started) {
				t.Errorf("a wait for the Pull of task %d is one for task %d, which task %d ends", started, info.On, info.Owner)
			}
			_ = task.Wait(ctx)
		}
	})
}

// TestInfo: Info describes a task that waits for another, which sleeps.
func TestInfo(t *testing.T) {
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		sleeper := rondo.Go(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
		sleeper.SetName("sleeper")
		waiter := rondo.Go(ctx, func(ctx context.Context) error { return sleeper.Wait(ctx) })
		waitAny := func(ts ...*rondo.Task) *rondo.Task {
			return rondo.Go(ctx, func(ctx context.Context) error { _, err := rondo.WaitAny(ctx, ts...); return err })
		}
		anyOfOne, anyOfTwo := waitAny(sleeper), waitAny(sleeper, waiter)
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		if i := sleeper.Info(); i.Name != "sleeper" || i.State != "waiting" || i.Waiting != "sleep" || i.Parent != 1 {
			t.Errorf("the sleeper is %+v", i)
		}
		if i := waiter.Info(); i.ID != waiter.ID() || i.Waiting != "task" || i.On != sleeper.ID() {
			t.Errorf("the waiter is %+v", i)
		}
		if i := anyOfOne.Info(); i.Waiting != "task" || i.On != sleeper.ID() {
			t.Errorf("a WaitAny of one task is %+v", i)
		}
		if i := anyOfTwo.Info(); i.Waiting != "tasks" || i.On != 0 {
			t.Errorf("a WaitAny of two tasks is %+v", i)
		}
		sleeper.Cancel(nil)
		_ = waiter.Wait(ctx)
		if i := waiter.Info(); i.State != "done" || i.Waiting != "" {
			t.Errorf("the waiter that has ended is %+v", i)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
