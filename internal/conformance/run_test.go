package conformance

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

func TestC200TasksLeftAtTheEnd(t *testing.T) {
	ended := false
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		rondo.Go(ctx, func(ctx context.Context) error {
			err := forever(ctx)
			_ = rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Millisecond) })
			ended = true
			return err
		})
		return nil
	})
	if err != nil || !ended {
		t.Error(err, ended)
	}
}

// A Runner may run again; what is to last is in the ctx that is given to it.
func TestC203RunnerRunsTwice(t *testing.T) {
	var r rondo.Runner
	ctx := context.WithValue(context.Background(), ctxKey("n"), 7)
	for range 2 {
		if err := r.Run(ctx, func(ctx context.Context) error {
			if ctx.Value(ctxKey("n")) != 7 {
				t.Error("the value is lost")
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
}

func TestC204ValueOfAChild(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		child := rondo.Go(ctx, func(ctx context.Context) error {
			ctx = context.WithValue(ctx, ctxKey("k"), "child")
			return rondo.Go(ctx, func(ctx context.Context) error {
				if ctx.Value(ctxKey("k")) != "child" {
					t.Error("a value does not come down")
				}
				return nil
			}).Wait(ctx)
		})
		sibling := rondo.Go(ctx, func(ctx context.Context) error {
			if v := ctx.Value(ctxKey("k")); v != nil {
				t.Errorf("a sibling sees %v", v)
			}
			return nil
		})
		if err := errors.Join(child.Wait(ctx), sibling.Wait(ctx)); err != nil || ctx.Value(ctxKey("k")) != nil {
			t.Error(err)
		}
	})
}

func TestC234PostAfterTheEnd(t *testing.T) {
	var l *rondo.Loop
	run(t, func(ctx context.Context) error { l = rondo.LoopOf(ctx); return nil })
	if err := l.Post(func() { t.Error("ran") }); !errors.Is(err, rondo.ErrLoopClosed) {
		t.Error(err)
	}
}

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
