package kerneltest_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
)

func TestRunnerIsReusable(t *testing.T) {
	r := rondo.Runner{Name: "again"}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 25 {
				err := r.Run(context.Background(), func(ctx context.Context) error {
					if name := rondo.LoopOf(ctx).Name(); name != "again" {
						return fmt.Errorf("the loop's name is %q", name)
					}
					return rondo.Sleep(ctx, time.Microsecond)
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// A soonContext is cancelled after the first call of Err.
type soonContext struct {
	context.Context
	cancel context.CancelCauseFunc
}

func (c soonContext) Err() error {
	defer c.cancel(errBroken)
	return c.Context.Err()
}

// TestRunOfCancelledContext: if the context of Run is cancelled while the loop is set up, so is the
// main task.
func TestRunOfCancelledContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	err := rondo.Run(soonContext{ctx, cancel}, rondo.Check)
	if err != errBroken {
		t.Errorf("Run returned %v, want the cause", err)
	}
}

// TestLockThread: tasks, coroutines and Offload work on a locked thread.
func TestLockThread(t *testing.T) {
	before := runtime.NumGoroutine()
	r := rondo.Runner{LockThread: true}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range 20 {
				g.Go(func(ctx context.Context) error {
					next, stop := iter.Pull(func(yield func(error) bool) {
						yield(rondo.Sleep(ctx, time.Duration(i)*time.Microsecond))
					})
					defer stop()
					if err, _ := next(); err != nil {
						return err
					}
					_, err := rondo.Offload(ctx, func(context.Context) (int, error) { return 1, nil })
					return err
				})
			}
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
	if left := leak.Settle(before); left > before {
		t.Errorf("%d goroutines are left", left-before)
	}
}
