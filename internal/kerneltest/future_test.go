package kerneltest_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

func TestFuture(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		f := rondo.NewFuture[int](ctx)
		if _, err := f.Result(); f.Done() || err != rondo.ErrNotDone || f.Task() != nil {
			t.Errorf("Result of a new Future returned %v", err)
		}
		var got []int
		calls := 0
		f.OnDone(func() { calls++ })
		stop := f.OnDone(func() { t.Error("a stopped callback ran") })
		if !stop() || stop() {
			t.Error("stop does not report whether it stopped the callback")
		}
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 3 {
				g.Go(func(ctx context.Context) error {
					v, err := f.Wait(ctx)
					got = append(got, v)
					return err
				})
			}
			cancelled := g.Go(func(ctx context.Context) error { _, err := f.Wait(ctx); return err })
			if err := rondo.Sleep(g, time.Second); err != nil {
				return err
			}
			cancelled.Cancel(errBroken)
			if err := cancelled.Wait(g); err != errBroken {
				t.Errorf("a cancelled wait returned %v", err)
			}
			f.Set(7)
			return nil
		})
		if err != nil || fmt.Sprint(got) != "[7 7 7]" {
			t.Errorf("Group returned %v, the waits %v", err, got)
		}
		f.OnDone(func() { calls++ })
		if err := rondo.Sleep(ctx, 1); err != nil || calls != 2 {
			t.Errorf("Sleep returned %v; %d of 2 callbacks ran", err, calls)
		}
		a := rondo.Async(ctx, func(ctx context.Context) (string, error) { return "x", errBroken })
		if v, err := a.Wait(ctx); v != "x" || err != errBroken || a.Task().Err() != errBroken {
			t.Errorf("Wait for an Async returned %q, %v", v, err)
		}
	})
}

// TestFutureFromGoroutines: of several Sets on several goroutines one succeeds,
// and all goroutines and tasks see its value.
func TestFutureFromGoroutines(t *testing.T) {
	for range 50 {
		run(t, func(ctx context.Context) error {
			f := rondo.NewFuture[int](ctx)
			var won, value atomic.Int64
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() {
					if f.Set(i + 1) {
						won.Add(1)
						value.Store(int64(i + 1))
					}
				})
				wg.Go(func() {
					if v, err := f.Wait(context.Background()); v == 0 || err != nil {
						t.Errorf("a goroutine got %d, %v", v, err)
					}
				})
			}
			v, err := f.Wait(ctx)
			wg.Wait()
			if won.Load() != 1 || int64(v) != value.Load() {
				t.Errorf("%d Sets succeeded; the task got %d, want %d", won.Load(), v, value.Load())
			}
			return err
		})
	}
}

// TestOnDoneInOrder: callbacks run in the order of their OnDone, also one that comes when
// a goroutine has set the Future and the loop has not come to that.
func TestOnDoneInOrder(t *testing.T) {
	run(t, func(ctx context.Context) error {
		f, got := rondo.NewFuture[int](ctx), ""
		f.OnDone(func() { got += "a" })
		var wg sync.WaitGroup
		wg.Go(func() { f.Set(1) })
		wg.Wait()
		f.OnDone(func() { got += "b" })
		f.OnDone(func() { got += "!" })()
		var last rondo.Event
		f.OnDone(last.Set)
		if err := last.Wait(ctx); err != nil || got != "ab" {
			t.Errorf("the callbacks ran in the order %q", got)
		}
		return nil
	})
}
