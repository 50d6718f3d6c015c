package kerneltest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// TestForeignGoroutine: calls from a goroutine that is not a task fail or panic
// with the name of the call, except those that any goroutine may make.
func TestForeignGoroutine(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var kept *rondo.Handle
		l, self, future := rondo.LoopOf(ctx), rondo.Current(ctx), rondo.NewFuture[int](ctx)
		scope := ctx.(*rondo.Scope)
		kept = l.CallLater(time.Hour, func() {})
		done := make(chan bool)
		go func() {
			defer close(done)
			if err := rondo.Sleep(ctx, time.Second); !errors.Is(err, rondo.ErrNoLoop) || !strings.Contains(err.Error(), "use Post or Submit") {
				t.Errorf("Sleep returned %v", err)
			}
			for name, call := range map[string]func(){
				"Go":                func() { rondo.Go(ctx, func(context.Context) error { return nil }) },
				"Scope.Go":          func() { scope.Go(func(context.Context) error { return nil }) },
				"Scope.SetLimit":    func() { scope.SetLimit(1) },
				"Scope.SetDeadline": func() { scope.SetDeadline(time.Now()) },
				"Loop.CallSoon":     func() { l.CallSoon(func() {}) },
				"Loop.Stats":        func() { l.Stats() },
				"Loop.CallAt":       func() { l.CallAt(time.Now(), func() {}) },
				"Loop.CallLater":    func() { l.CallLater(1, func() {}) },
				"Handle.Cancel":     func() { kept.Cancel() },
				"Async":             func() { rondo.Async(ctx, after(0, 1, nil)) },
				"Task.Done":         func() { self.Done() },
				"Task.Err":          func() { _ = self.Err() },
				"Task.Info":         func() { self.Info() },
				"Task.OnDone":       func() { self.OnDone(func() {}) },
				"Future.OnDone":     func() { future.OnDone(func() {}) },
				"Every": func() {
					for range rondo.Every(ctx, time.Hour) {
					}
				},
				"AsCompleted": func() {
					for range rondo.AsCompleted(ctx, future) {
					}
				},
				"Queue.All": func() {
					for range rondo.NewQueue[int](0).All(ctx) {
					}
				},
			} {
				if text := panicOf(call); !strings.HasPrefix(text, "rondo: "+name+" from a goroutine that is not a task of loop-") {
					t.Errorf("%s: panic %q", name, text)
				}
			}
			if rondo.Current(ctx) != nil {
				t.Error("Current on another goroutine is not nil")
			}
			// Tasks may be called on any goroutine.
			if len(rondo.Tasks(ctx)) == 0 {
				t.Error("Tasks on another goroutine is empty")
			}
		}()
		_, _, err := receive(ctx, done)
		return err
	})
}

// TestScopeOfAnotherLoop: a ctx of another loop belongs to no loop here. A task
// of another loop can be cancelled and waited for.
func TestScopeOfAnotherLoop(t *testing.T) {
	run(t, func(outer context.Context) error {
		task := rondo.Go(outer, forever)
		_, err := rondo.Offload(outer, func(context.Context) (int, error) {
			return 0, rondo.Run(context.Background(), func(ctx context.Context) error {
				if err := rondo.Sleep(outer, 1); !errors.Is(err, rondo.ErrNoLoop) {
					t.Errorf("Sleep with the ctx of another loop returned %v", err)
				}
				task.Cancel(nil)
				if err := task.Wait(ctx); err != context.Canceled {
					t.Errorf("Wait for a task of another loop returned %v", err)
				}
				return nil
			})
		})
		return err
	})
}

func TestNewOfNothing(t *testing.T) {
	panics(t, "NewBarrier for less than 1 task", func() { rondo.NewBarrier(0) })
	panics(t, "NewSemaphore with a negative number", func() { rondo.NewSemaphore(-1) })
	panics(t, "Semaphore.Resize with a negative number", func() { rondo.NewSemaphore(1).Resize(-1) })
	panics(t, "NewQueue with a negative limit", func() { rondo.NewQueue[int](-1) })
	panics(t, "NewStack with a negative limit", func() { rondo.NewStack[int](-1) })
	panics(t, "NewPriorityQueue with a negative limit", func() { rondo.NewPriorityQueue(-1, less) })
	panics(t, "NewPriorityQueue with a nil less", func() { rondo.NewPriorityQueue[int](0, nil) })
}

// TestNilFunctions: a nil function, a nil context of Run and the nil that LoopOf returns outside a
// loop are refused at the call.
func TestNilFunctions(t *testing.T) {
	var none context.Context
	run(t, func(ctx context.Context) error {
		for want, call := range map[string]func(){
			"rondo: Gather with a nil function":                                                      func() { _, _ = rondo.Gather[int](ctx, nil) },
			"rondo: Settle with a nil function":                                                      func() { _ = rondo.Settle[int](ctx, nil) },
			"rondo: Race with a nil function":                                                        func() { _, _ = rondo.Race[int](ctx, nil) },
			"rondo: Scope.Start with a nil function":                                                 func() { _ = rondo.Group(ctx, func(g *rondo.Scope) error { return g.Start(g, nil) }) },
			"rondo: WaitAny with a nil Task":                                                         func() { _, _ = rondo.WaitAny(ctx, nil) },
			"rondo: WaitAny of the task itself: name other tasks":                                    func() { _, _ = rondo.WaitAny(ctx, rondo.Current(ctx)) },
			"rondo: AsCompleted with a nil Future":                                                   func() { rondo.AsCompleted[int](ctx, nil) },
			"rondo: Map with a limit that is not positive":                                           func() { rondo.Map(ctx, 0, slices.Values([]int{1}), double) },
			"rondo: Map with a nil function":                                                         func() { rondo.Map[int, int](ctx, 1, slices.Values([]int{1}), nil) },
			"rondo: Map with a nil sequence":                                                         func() { rondo.Map(ctx, 1, nil, double) },
			"rondo: Task.OnDone with a nil function":                                                 func() { rondo.Current(ctx).OnDone(nil) },
			"rondo: Future.OnDone with a nil function":                                               func() { rondo.NewFuture[int](ctx).OnDone(nil) },
			"rondo: Loop.CallSoon with a nil function":                                               func() { rondo.LoopOf(ctx).CallSoon(nil) },
			"rondo: Loop.CallLater with a nil function":                                              func() { rondo.LoopOf(ctx).CallLater(1, nil) },
			"rondo: Loop.Post with a nil function":                                                   func() { _ = rondo.LoopOf(ctx).Post(nil) },
			"rondo: Scope.Go with a nil function":                                                    func() { _ = rondo.Group(ctx, func(g *rondo.Scope) error { g.Go(nil); return nil }) },
			"rondo: Submit with a nil Loop: LoopOf returns nil for a ctx that belongs to no loop":    func() { rondo.Submit(nil, after(0, 1, nil)) },
			"rondo: Loop.Post with a nil Loop: LoopOf returns nil for a ctx that belongs to no loop": func() { _ = rondo.LoopOf(t.Context()).Post(func() {}) },
			"rondo: Submit with a nil function":                                                      func() { rondo.Submit[int](rondo.LoopOf(ctx), nil) },
			"rondo: Offload with a nil function":                                                     func() { _, _ = rondo.Offload[int](ctx, nil) },
			"rondo: OffloadFunc with a nil function":                                                 func() { _ = rondo.OffloadFunc(ctx, nil) },
			"rondo: Timeout with a nil function":                                                     func() { _ = rondo.Timeout(ctx, 1, nil) },
			"rondo: Contain with a nil function":                                                     func() { _ = rondo.Contain(ctx, nil) },
			"rondo: Deadline with a nil function":                                                    func() { _ = rondo.Deadline(ctx, time.Time{}, nil) },
			"rondo: Shield with a nil function":                                                      func() { _ = rondo.Shield(ctx, nil) },
			"rondo: Run with a nil function":                                                         func() { _ = rondo.Run(ctx, nil) },
			"rondo: Runner.Run with a nil function":                                                  func() { _ = new(rondo.Runner).Run(ctx, nil) },
			"rondo: Run with a nil context: use context.Background() if there is no other":           func() { _ = rondo.Run(none, nothing) },
			"rondo: Runner.Run with a nil context: use context.Background() if there is no other":    func() { _ = new(rondo.Runner).Run(none, nothing) },
			"rondo: Loop.Name with a nil Loop: LoopOf returns nil for a ctx that belongs to no loop": func() { _ = rondo.LoopOf(t.Context()).Name() },
			"rondo: Every with a duration that is not positive: use one above 0":                     func() { rondo.Every(ctx, 0) },
			"rondo: Future.Fail with a nil error":                                                    func() { rondo.NewFuture[int](ctx).Fail(nil) },
			"rondo: Go with a nil function":                                                          func() { rondo.Go(ctx, nil) },
			"rondo: Async with a nil function":                                                       func() { rondo.Async[int](ctx, nil) },
			"rondo: Group with a nil function":                                                       func() { _ = rondo.Group(ctx, nil) },
		} {
			func() {
				defer func() {
					if v := recover(); fmt.Sprint(v) != want {
						t.Errorf("panic %q, want %q", v, want)
					}
				}()
				call()
			}()
		}
		return nil
	})
}

// TestZeroValues: what must be made by a function says so; the zero Event, Mutex,
// RWMutex, WaitList, Queue and Semaphore are ready.
func TestZeroValues(t *testing.T) {
	run(t, func(ctx context.Context) error {
		future := "; make it with NewFuture, Async or Submit"
		for want, call := range map[string]func(){
			"Future.Set of a zero Future" + future:                           func() { new(rondo.Future[int]).Set(1) },
			"Future.Fail of a zero Future" + future:                          func() { new(rondo.Future[int]).Fail(errBroken) },
			"Future.Wait of a zero Future" + future:                          func() { _, _ = new(rondo.Future[int]).Wait(ctx) },
			"AsCompleted of a zero Future" + future:                          func() { rondo.AsCompleted(ctx, new(rondo.Future[int])) },
			"Future.OnDone of a zero Future" + future:                        func() { new(rondo.Future[int]).OnDone(func() {}) },
			"Barrier.Wait of a zero Barrier; make it with NewBarrier":        func() { _, _ = new(rondo.Barrier).Wait(ctx) },
			"Barrier.Abort of a zero Barrier; make it with NewBarrier":       func() { new(rondo.Barrier).Abort() },
			"Barrier.Reset of a zero Barrier; make it with NewBarrier":       func() { new(rondo.Barrier).Reset() },
			"Scope.Go of a zero value; use one that Rondo has made":          func() { new(rondo.Scope).Go(nothing) },
			"Scope.Cancel of a zero value; use one that Rondo has made":      func() { new(rondo.Scope).Cancel(nil) },
			"Scope.SetDeadline of a zero value; use one that Rondo has made": func() { new(rondo.Scope).SetDeadline(time.Time{}) },
			"Task.Done of a zero value; use one that Rondo has made":         func() { new(rondo.Task).Done() },
			"Task.Wait of a zero value; use one that Rondo has made":         func() { _ = new(rondo.Task).Wait(ctx) },
			"Task.WaitCase of a zero value; use one that Rondo has made":     func() { new(rondo.Task).WaitCase() },
			"Task.Cancel of a zero value; use one that Rondo has made":       func() { new(rondo.Task).Cancel(nil) },
			"Cond.Wait without L: set L to a Mutex, and lock it before Wait": func() { _ = new(rondo.Cond).Wait(ctx) },
		} {
			if text := panicOf(call); text != "rondo: "+want {
				t.Errorf("panic %q, want %q", text, want)
			}
		}
		return nil
	})
}
