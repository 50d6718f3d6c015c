package fd

import (
	"context"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
)

// TestLockCancelled: the cancellation of many tasks that wait for a lock costs
// each the same, however many they are. It counts what the queue does.
func TestLockCancelled(t *testing.T) {
	const n = 500
	one, two := stepsOf(t, n), stepsOf(t, 2*n)
	if two > 2*one+10 {
		t.Errorf("%d tasks: %d steps; %d tasks: %d steps", n, one, 2*n, two)
	}
}

// stepsOf returns the steps of a queue that n tasks join and leave.
func stepsOf(t *testing.T, n int) (steps int) {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		var l Lock
		loop := kernel.Of(ctx)
		if err := l.Take(loop, loop.Task()); err != nil {
			return err
		}
		tasks := make([]*rondo.Task, n)
		for i := range tasks {
			tasks[i] = rondo.Go(ctx, func(context.Context) error { return l.Take(loop, loop.Task()) })
		}
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		// Not in the order of the queue: most leave from its middle. n is no
		// multiple of 7, so each is cancelled once.
		for i := range tasks {
			tasks[(i*7+n/2)%n].Cancel(nil)
		}
		for _, task := range tasks {
			if err := task.Wait(ctx); err == nil {
				t.Error("a cancelled task has the lock")
			}
		}
		q := l.queue.Load()
		if q.first != nil || q.last != nil {
			t.Error("the queue is not empty")
		}
		l.Release(loop)
		if !l.Try() {
			t.Error("the lock is not free")
		}
		next := rondo.Go(ctx, func(context.Context) error { return l.Take(loop, loop.Task()) })
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		l.Release(loop)
		if err := next.Wait(ctx); err != nil {
			return err
		}
		steps = q.steps
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return steps
}
