package conformance

// Expectations of users of asyncio's loop and its callbacks.

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestC031CallbackOfCallbackRunsNextTurn: a callback that is set by a callback
// runs in the next turn of the loop.
func TestC031CallbackOfCallbackRunsNextTurn(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l := rondo.LoopOf(ctx)
		var first, second uint64
		l.CallSoon(func() {
			first = l.Stats().Turns
			l.CallSoon(func() { second = l.Stats().Turns })
		})
		_ = rondo.Yield(ctx)
		_ = rondo.Yield(ctx)
		if first == 0 || second != first+1 {
			t.Errorf("the first ran in turn %d, the second in turn %d", first, second)
		}
		return nil
	})
}

// TestC035NegativeDelayIsNextTurn: CallLater with a negative delay runs the
// callback in the next turn.
func TestC035NegativeDelayIsNextTurn(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		start, ran := rondo.Now(ctx), false
		rondo.LoopOf(ctx).CallLater(-time.Hour, func() { ran = true })
		if ran {
			t.Error("the callback ran inside CallLater")
		}
		_ = rondo.Sleep(ctx, 1)
		if !ran || rondo.Now(ctx).Sub(start) != 1 {
			t.Error("the callback did not run in the next turn")
		}
	})
}

// TestC036NilCallbackIsRefused: a nil callback panics at the call, and nothing is
// queued.
func TestC036NilCallbackIsRefused(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		l := rondo.LoopOf(ctx)
		before := l.Stats()
		for _, call := range []func(){
			func() { l.CallSoon(nil) }, func() { l.CallLater(1, nil) }, func() { l.CallAt(rondo.Now(ctx), nil) }, func() { _ = l.Post(nil) },
		} {
			if panicOf(call) == "" {
				t.Error("a nil callback was accepted")
			}
		}
		if after := l.Stats(); after.Ready != before.Ready || after.Timers != before.Timers {
			t.Error("a nil callback was queued")
		}
	})
}

// TestC038EndedLoopRefuses: when a loop has ended, Go and the methods of Loop
// panic, a wait returns an error, and a Future of Submit fails with
// ErrLoopClosed.
func TestC038EndedLoopRefuses(t *testing.T) {
	var l *rondo.Loop
	var old context.Context
	run(t, func(ctx context.Context) error { l, old = rondo.LoopOf(ctx), ctx; return nil })
	for name, call := range map[string]func(){
		"CallSoon": func() { l.CallSoon(func() {}) },
		"Go":       func() { rondo.Go(old, forever) },
		"Stats":    func() { l.Stats() },
	} {
		if text := panicOf(call); !strings.Contains(text, "the loop has ended") {
			t.Errorf("%s after the end: panic %q", name, text)
		}
	}
	f := rondo.Submit(l, func(context.Context) (int, error) { return 1, nil })
	if _, err := f.Result(); !errors.Is(err, rondo.ErrLoopClosed) {
		t.Errorf("the result of Submit after the end: %v", err)
	}
	if _, err := f.Wait(context.Background()); !errors.Is(err, rondo.ErrLoopClosed) {
		t.Errorf("Wait for it returned %v", err)
	}
	if err := rondo.Sleep(old, 1); !errors.Is(err, rondo.ErrLoopClosed) {
		t.Errorf("Sleep after the end returned %v", err)
	}
	if rondo.Tasks(old) != nil || old.Err() == nil {
		t.Error("after the end there are tasks, or ctx has no error")
	}
}

// TestC039NoLoopInALoop: Run inside a task returns an error.
func TestC039NoLoopInALoop(t *testing.T) {
	run(t, func(ctx context.Context) error {
		for name, inner := range map[string]context.Context{"its ctx": ctx, "another ctx": context.Background()} {
			if err := rondo.Run(inner, forever); err == nil || !strings.Contains(err.Error(), "Run inside a task") {
				t.Errorf("Run in a task, with %s, returned %v", name, err)
			}
		}
		return nil
	})
}

// TestC041PostWakesASleepingLoop: Post from another goroutine wakes a loop that
// sleeps, and the callback runs on the loop.
func TestC041PostWakesASleepingLoop(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l, done := rondo.LoopOf(ctx), rondo.NewFuture[bool](ctx)
		go func() { _ = l.Post(func() { done.Set(rondo.Current(ctx) == nil) }) }()
		onLoop, err := done.Wait(ctx)
		if !onLoop {
			t.Error("the callback ran in a task")
		}
		return err
	})
}

// TestC044CallbackPanicEndsTheLoop: a panic in a callback ends the loop, also
// with Recover, because no task can return it.
//
// asyncio logs it and goes on.
func TestC044CallbackPanicEndsTheLoop(t *testing.T) {
	ended := false
	text := panicOf(func() {
		_ = (&rondo.Runner{Recover: true}).Run(t.Context(), func(ctx context.Context) error {
			defer func() { ended = true }()
			rondo.LoopOf(ctx).CallSoon(func() { panic("oops") })
			return rondo.Sleep(ctx, time.Hour)
		})
	})
	if !ended || !strings.Contains(text, "panic in a callback: oops") {
		t.Errorf("Run panicked with %.80q; main ended: %v", text, ended)
	}
}

// TestC046PanicOfOnErrorIsLogged: a panic in OnError is logged, and the loop goes on.
func TestC046PanicOfOnErrorIsLogged(t *testing.T) {
	r := rondo.Runner{OnError: func(rondo.TaskInfo, error) { panic("oops") }}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		rondo.Go(ctx, func(context.Context) error { return errBroken })
		return nil
	})
	if err != nil {
		t.Errorf("Run returned %v", err)
	}
}
