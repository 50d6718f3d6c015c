package kerneltest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

func TestWaitAny(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		sleeper := func(d time.Duration) *rondo.Task {
			return rondo.Go(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, d) })
		}
		a, b, c := sleeper(3*time.Second), sleeper(time.Second), sleeper(2*time.Second)
		ts := []*rondo.Task{a, b, c}
		for _, want := range []*rondo.Task{b, c, a} {
			got, err := rondo.WaitAny(ctx, ts...)
			if got != want || err != nil {
				t.Errorf("WaitAny returned %v, %v, want %s", got, err, want.Name())
			}
			ts = slices.DeleteFunc(ts, func(t *rondo.Task) bool { return t == want })
		}
		if got, err := rondo.WaitAny(ctx, c, b, a); got != c || err != nil {
			t.Errorf("WaitAny of tasks that have ended returned %v, %v, want the first argument", got, err)
		}
		if _, err := rondo.WaitAny(ctx); err == nil || !strings.HasPrefix(err.Error(), "rondo: WaitAny without") {
			t.Errorf("WaitAny of nothing returned %v", err)
		}
		// Of tasks that end together it is the first argument.
		a, b = sleeper(time.Second), sleeper(time.Second)
		if got, err := rondo.WaitAny(ctx, b, a); got != b || err != nil {
			t.Errorf("WaitAny of tasks that end together returned %v, %v", got, err)
		}
		// A task that fails has ended, and WaitAny does not return its error.
		bad := rondo.Go(ctx, func(context.Context) error { return errBroken })
		if got, err := rondo.WaitAny(ctx, sleeper(time.Second), bad); got != bad || err != nil || bad.Err() != errBroken {
			t.Errorf("WaitAny returned %v, %v", got, err)
		}
		// A WaitAny that is cancelled cancels no task.
		a = sleeper(time.Minute)
		err := rondo.Timeout(ctx, time.Second, func(ctx context.Context) error {
			got, err := rondo.WaitAny(ctx, a)
			if got != nil {
				t.Errorf("a WaitAny that was cancelled returned %v", got)
			}
			return err
		})
		if !errors.Is(err, context.DeadlineExceeded) || a.Done() {
			t.Errorf("Timeout returned %v; the task has ended: %v", err, a.Done())
		}
		if got, err := rondo.WaitAny(ctx, a); got != a || err != nil || a.Err() != nil {
			t.Errorf("WaitAny returned %v, %v", got, err)
		}
	})
}

// TestWaitAnyOrders: in every order, WaitAny returns a task that has ended, and
// the first one if it waited.
func TestWaitAnyOrders(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		var ended []*rondo.Task
		step := func(ctx context.Context) error {
			ended = append(ended, rondo.Current(ctx))
			return nil
		}
		a, b := rondo.Go(ctx, step), rondo.Go(ctx, func(ctx context.Context) error { _ = rondo.Yield(ctx); return step(ctx) })
		if got, err := rondo.WaitAny(ctx, b, a); err != nil || !got.Done() || len(ended) == 1 && got != ended[0] {
			t.Errorf("WaitAny returned %v, %v; the tasks ended in the order %v", got, err, ended)
		}
	})
}

// TestAsCompletedInEveryOrder: in every order, AsCompleted yields each Future
// once.
func TestAsCompletedInEveryOrder(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		fs := []*rondo.Future[int]{rondo.NewFuture[int](ctx), rondo.NewFuture[int](ctx), rondo.NewFuture[int](ctx)}
		for i, f := range fs {
			rondo.Go(ctx, func(ctx context.Context) error { f.Set(i); return nil })
		}
		sum := 0
		for f := range rondo.AsCompleted(ctx, fs...) {
			v, err := f.Result()
			if err != nil {
				t.Error(err)
			}
			sum += 1 << v
		}
		if sum != 7 {
			t.Errorf("AsCompleted yielded the Futures %b", sum)
		}
	})
}

// TestTaskOnDone: a callback of Task.OnDone runs in a later turn, also if the
// task has ended already, and not if it was stopped.
func TestTaskOnDone(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		calls := 0
		task := rondo.Go(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Second) })
		task.OnDone(func() {
			calls++
			if !task.Done() || rondo.Current(ctx) != nil {
				t.Error("the callback ran before the end of the task, or in a task")
			}
		})
		stop := task.OnDone(func() { calls += 100 })
		if !stop() || stop() {
			t.Error("stop does not report whether it stopped the callback")
		}
		if err := task.Wait(ctx); err != nil {
			t.Error(err)
		}
		_ = rondo.Sleep(ctx, 1)
		task.OnDone(func() { calls++ })
		if calls != 1 {
			t.Errorf("%d calls, want 1: OnDone must not call", calls)
		}
		_ = rondo.Sleep(ctx, 1)
		if calls != 2 {
			t.Errorf("%d calls, want 2", calls)
		}
	})
}

// TestAsCompletedIsACancelPoint: AsCompleted ends when ctx is cancelled, although
// there are Futures that are done.
func TestAsCompletedIsACancelPoint(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		fs := []*rondo.Future[int]{rondo.NewFuture[int](ctx), rondo.NewFuture[int](ctx)}
		fs[0].Set(1)
		fs[1].Set(2)
		n := 0
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			for range rondo.AsCompleted(g, fs...) {
				n++
				g.Cancel(nil)
			}
			return nil
		})
		if n != 1 {
			t.Errorf("AsCompleted yielded %d Futures, want 1", n)
		}
	})
}

// TestListeningIsNoDeadlock: a loop with a callback on a Future is not in
// deadlock, because any goroutine may set the Future. Without the callback it is.
func TestListeningIsNoDeadlock(t *testing.T) {
	err := ending.Run(context.Background(), func(ctx context.Context) error {
		f := rondo.NewFuture[int](ctx)
		var goroutines sync.WaitGroup
		listening := make(chan bool)
		goroutines.Go(func() {
			<-listening
			f.Set(1)
		})
		rondo.Go(ctx, func(context.Context) error { close(listening); return nil })
		n := 0
		for f := range rondo.AsCompleted(ctx, f) {
			v, err := f.Result()
			n += v
			if err != nil {
				t.Error(err)
			}
		}
		if goroutines.Wait(); n != 1 {
			t.Errorf("AsCompleted yielded %d Futures, want 1", n)
		}

		g := rondo.NewFuture[int](ctx)
		stop, again := g.OnDone(func() {}), g.OnDone(func() {})
		if !stop() || stop() || !again() {
			t.Error("stop does not report whether it stopped the callback")
		}
		return forever(ctx)
	})
	if !errors.Is(err, rondo.ErrDeadlock) {
		t.Errorf("Run without a callback returned %v", err)
	}
}
