package kerneltest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/sim"
)

// TestPullPanic: a panic of the sequence comes out of the next or stop that waits
// for it, with the stack of the sequence.
func TestPullPanic(t *testing.T) {
	boom := errors.New("boom")
	body := func(ctx context.Context) iter.Seq[int] {
		return func(yield func(int) bool) {
			defer panicInBody(boom)
			_ = rondo.Sleep(ctx, time.Millisecond)
			yield(1)
		}
	}
	caught := func(fn func()) (e *rondo.PanicError) {
		defer func() { e, _ = recover().(*rondo.PanicError) }()
		fn()
		return nil
	}
	sim.Explore(t, func(ctx context.Context) {
		next, stop := rondo.Pull(ctx, body(ctx))
		next()
		next2, stop2 := rondo.Pull(ctx, body(ctx))
		next2()
		for _, e := range []*rondo.PanicError{caught(func() { next() }), caught(stop2)} {
			if e == nil || e.Value != boom || !errors.Is(e, boom) || !strings.Contains(string(e.Stack), "panicInBody") {
				t.Errorf("recovered %v", e)
			}
		}
		stop()
		if _, ok := next2(); ok {
			t.Error("next returned a value after a panic")
		}
	})
	// At the end of the scope no call waits for the sequence: the panic is a task's.
	runner := rondo.Runner{Recover: true}
	err := runner.Run(t.Context(), func(ctx context.Context) error {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 2 {
				next, _ := rondo.Pull(g, body(g))
				next()
			}
			return nil
		})
		if n := strings.Count(fmt.Sprint(err), "rondo: panic in task-"); n != 2 || !errors.Is(err, boom) {
			t.Errorf("Group returned %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	defer func() {
		if e, _ := recover().(*rondo.PanicError); e == nil || e.Value != boom {
			t.Errorf("Run panicked with %v", e)
		}
	}()
	_ = rondo.Run(t.Context(), func(ctx context.Context) error {
		next, _ := rondo.Pull(ctx, body(ctx))
		next()
		return nil
	})
	t.Error("Run returned")
}

func panicInBody(v any) { panic(v) }

// TestPullGoexit: a sequence that calls Goexit ends the goroutine of Run, as a
// task does. Deferred calls of the task in next run before all is cancelled, as after a plain call.
func TestPullGoexit(t *testing.T) {
	for _, left := range []bool{false, true} {
		before := runtime.NumGoroutine()
		ended, after, cancelled := make(chan string), false, error(nil)
		go func() {
			how := "Goexit"
			defer func() {
				if v := recover(); v != nil {
					how = fmt.Sprint(v)
				}
				ended <- how
			}()
			err := rondo.Run(context.Background(), func(ctx context.Context) error {
				next, _ := rondo.Pull(ctx, func(yield func(int) bool) {
					defer runtime.Goexit()
					_ = rondo.Yield(ctx)
					yield(1)
				})
				next()
				if left {
					return nil
				}
				defer func() { cancelled = ctx.Err() }()
				next()
				after = true
				return nil
			})
			how = fmt.Sprint(err)
		}()
		if how := <-ended; how != "Goexit" || after || cancelled != nil {
			t.Errorf("left: %v; Run ended by %s; next returned: %v; its deferred call saw the error %v", left, how, after, cancelled)
		}
		if n := leak.Settle(before); n > before {
			t.Errorf("%d goroutines before, %d after", before, n)
		}
	}
}

// TestPullMisuse: next, stop and yield panic where they must not be called, and
// name the mistake.
func TestPullMisuse(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		var next func() (int, bool)
		var stop func()
		var kept func(int) bool
		check := func(want string, fn func()) {
			t.Helper()
			if got := panicOf(fn); !strings.HasPrefix(got, "rondo: "+want) {
				t.Errorf("panic %q, want %q", got, want)
			}
		}
		next, stop = rondo.Pull(ctx, func(yield func(int) bool) {
			kept = yield
			check("next of a Pull inside its own sequence", func() { next() })
			check("stop of a Pull inside its own sequence", func() { stop() })
			done := make(chan bool)
			go func() {
				defer close(done)
				check("yield of a Pull called outside its sequence", func() { kept(2) })
			}()
			<-done
			_ = rondo.Sleep(ctx, time.Second)
			yield(1)
		})
		other := rondo.Go(ctx, func(ctx context.Context) error {
			_ = rondo.Sleep(ctx, time.Millisecond)
			check("next of a Pull while another task is in its next", func() { next() })
			check("stop of a Pull while another task is in its next", func() { stop() })
			check("yield of a Pull called outside its sequence", func() { kept(2) })
			return nil
		})
		if v, ok := next(); v != 1 || !ok {
			t.Errorf("next returned %v, %v", v, ok)
		}
		_ = other.Wait(ctx)
		check("yield of a Pull called outside its sequence", func() { kept(2) })
		var called rondo.Event
		rondo.LoopOf(ctx).CallSoon(func() {
			check("next of a Pull in a callback: callbacks must not wait", func() { next() })
			check("stop of a Pull in a callback: callbacks must not wait", func() { stop() })
			called.Set()
		})
		_ = called.Wait(ctx)
		done := make(chan bool)
		go func() {
			defer close(done)
			check("next of a Pull from a goroutine that is not a task", func() { next() })
			check("yield of a Pull called outside its sequence", func() { kept(2) })
		}()
		<-done
		stop()
		check("yield of a Pull called outside its sequence", func() { kept(2) })
		check("Pull of a nil sequence", func() { rondo.Pull[int](ctx, nil) })
		check("Pull: this ctx belongs to no running loop; use the one that Run or Go hands down", func() { rondo.Pull(context.Background(), slices.Values([]int{1})) })
	})
}

// TestPullDeadlock: a deadlock report names the task that waits in next, and the
// clean-up of the sequence runs.
func TestPullDeadlock(t *testing.T) {
	before := runtime.NumGoroutine()
	cleaned := false
	err := ending.Run(context.Background(), func(ctx context.Context) error {
		next, stop := rondo.Pull(ctx, func(yield func(int) bool) {
			defer func() { cleaned = true }()
			var never rondo.Event
			yield(1)
			if err := never.Wait(ctx); err == nil {
				t.Error("the wait returned nil")
			}
		})
		defer stop()
		next()
		_, ok := next()
		if ok {
			t.Error("next returned a value")
		}
		return nil
	})
	if !errors.Is(err, rondo.ErrDeadlock) || !strings.Contains(err.Error(), "main waits for next 2") || !cleaned {
		t.Errorf("Run returned %v; the clean-up ran: %v", err, cleaned)
	}
	if n := leak.Settle(before); n > before {
		t.Errorf("%d goroutines before, %d after", before, n)
	}
}
