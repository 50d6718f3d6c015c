package kerneltest_test

import (
	"context"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

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
