package conformance

// Expectations of users of asyncio.run and asyncio.Runner.

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/sim"
)

// TestC200TasksLeftAtTheEnd: tasks that still run when main returns are cancelled
// and waited for. An error that is not the cancellation is reported to OnError.
func TestC200TasksLeftAtTheEnd(t *testing.T) {
	ended := 0
	var reports []error
	r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { reports = append(reports, err) }}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		for _, broken := range []bool{false, true} {
			rondo.Go(ctx, func(ctx context.Context) error {
				err := forever(ctx)
				_ = rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Millisecond) })
				ended++
				if broken {
					return errBroken
				}
				return err
			})
		}
		return nil
	})
	if err != nil || ended != 2 || len(reports) != 1 || reports[0] != errBroken {
		t.Errorf("Run returned %v; %d of 2 tasks ran to their end; OnError got %v", err, ended, reports)
	}
}

// TestC203RunnerRunsTwice: a Runner can run again. The values of the ctx that Run
// is given are there each time.
func TestC203RunnerRunsTwice(t *testing.T) {
	var r rondo.Runner
	ctx := context.WithValue(context.Background(), ctxKey("n"), 7)
	for range 2 {
		if err := r.Run(ctx, func(ctx context.Context) error {
			if ctx.Value(ctxKey("n")) != 7 {
				t.Error("main does not see the value of Run's ctx")
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
}

// TestC204ValueOfAChild: the tasks that are started with a ctx see its values.
// The parent and the siblings do not.
func TestC204ValueOfAChild(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		child := rondo.Go(ctx, func(ctx context.Context) error {
			ctx = context.WithValue(ctx, ctxKey("k"), "child")
			return rondo.Go(ctx, func(ctx context.Context) error {
				if ctx.Value(ctxKey("k")) != "child" {
					t.Error("a task does not see the value of its parent's ctx")
				}
				return nil
			}).Wait(ctx)
		})
		sibling := rondo.Go(ctx, func(ctx context.Context) error {
			if v := ctx.Value(ctxKey("k")); v != nil {
				t.Errorf("a sibling sees the value %v", v)
			}
			return nil
		})
		if err := errors.Join(child.Wait(ctx), sibling.Wait(ctx)); err != nil || ctx.Value(ctxKey("k")) != nil {
			t.Error(err)
		}
	})
}

// TestC234PostAfterTheEnd: Post to a loop that has ended returns ErrLoopClosed.
func TestC234PostAfterTheEnd(t *testing.T) {
	var l *rondo.Loop
	run(t, func(ctx context.Context) error { l = rondo.LoopOf(ctx); return nil })
	if err := l.Post(func() { t.Error("ran") }); !errors.Is(err, rondo.ErrLoopClosed) {
		t.Errorf("Post returned %v", err)
	}
}

// TestC242NothingIsLeftOfALoop: no goroutine of a loop is left when Run returns.
func TestC242NothingIsLeftOfALoop(t *testing.T) {
	before := runtime.NumGoroutine()
	run(t, func(ctx context.Context) error {
		never := make(chan int)
		for range 10 {
			rondo.Go(ctx, forever)
			rondo.Go(ctx, func(ctx context.Context) error { _, _, err := rondo.Receive(ctx, never); return err })
			rondo.Go(ctx, func(ctx context.Context) error {
				for range rondo.Map(ctx, 3, rondo.NewQueue[int](0).All(ctx), double) {
				}
				return nil
			})
		}
		return rondo.Yield(ctx)
	})
	if left := leak.Settle(before); left > before {
		t.Errorf("%d goroutines are left", left-before)
	}
}
