package kerneltest_test

import (
	"context"
	"testing"

	"github.com/rondo-go/rondo"
)

func ignore(err error) error {
	if err == errStop {
		return nil
	}
	return err
}

// TestCancelInACrowd cancels every wait of a long line, from all over it. If the
// line were searched for each of them, that would take some 10^9 steps.
func TestCancelInACrowd(t *testing.T) {
	const crowd = 50_000
	run(t, func(ctx context.Context) error {
		var m rondo.RWMutex
		_ = m.TryLock()
		tasks := make([]*rondo.Task, crowd)
		for i := range tasks {
			tasks[i] = rondo.Go(ctx, func(ctx context.Context) error { return ignore(m.RLock(ctx)) })
		}
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		for i := range tasks {
			tasks[(i*7919)%crowd].Cancel(errStop)
		}
		for _, task := range tasks {
			if err := task.Wait(ctx); err != nil {
				return err
			}
		}
		m.Unlock()
		if !m.TryLock() {
			t.Error("a task has the lock")
		}
		return nil
	})
}
