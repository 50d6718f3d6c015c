package kerneltest_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// A hostileHandler is a handler of package slog that panics.
type hostileHandler struct {
	slog.Handler
	called *int
}

func (h hostileHandler) Handle(context.Context, slog.Record) error {
	*h.called++
	panic("hostile handler")
}

// TestHostileHandler: a handler of package slog that panics ends nobody. What it was to write is
// on standard error.
func TestHostileHandler(t *testing.T) {
	defer slog.SetDefault(slog.Default())
	called, cleaned := 0, false
	slog.SetDefault(slog.New(hostileHandler{slog.Default().Handler(), &called}))
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		rondo.Go(ctx, func(context.Context) error { return errBroken }) // for which nobody waits
		rondo.Go(ctx, func(ctx context.Context) error {
			defer func() { cleaned = true }()
			return forever(ctx)
		})
		return rondo.Yield(ctx)
	})
	if err != nil || called != 1 || !cleaned {
		t.Errorf("Run returned %v after %d calls of the handler; another task has cleaned up: %v", err, called, cleaned)
	}
}

// A waitingHandler is a handler of package slog that waits, as one does that writes to a connection
// of the loop.
type waitingHandler struct {
	slog.Handler
	wait func()
}

func (h waitingHandler) Handle(context.Context, slog.Record) error { h.wait(); return nil }

// TestReportThatWaits: a report of what happens while a task suspends goes to a function of the
// program's that waits. That is a panic as in a callback, and the task waits as ever.
func TestReportThatWaits(t *testing.T) {
	defer slog.SetDefault(slog.Default())
	standard := slog.Default()
	for name, r := range map[string]rondo.Runner{
		"the handler of package slog": {Debug: true, SlowStep: time.Hour},
		"OnError":                     {Tracer: &rondo.Tracer{Parked: func(*rondo.Task, rondo.Reason, time.Time) { panic("hook") }}},
	} {
		var main context.Context
		began, waited := 0, 0
		wait := func() {
			began++
			_ = rondo.Sleep(main, 1)
			waited++
		}
		slog.SetDefault(standard)
		if r.Debug {
			slog.SetDefault(slog.New(waitingHandler{standard.Handler(), wait}))
		} else {
			r.OnError = func(rondo.TaskInfo, error) { wait() }
		}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			main = ctx
			var e rondo.Event
			rondo.Go(ctx, func(context.Context) error { e.Set(); return nil })
			return rondo.Timeout(ctx, time.Hour, func(context.Context) error { return e.Wait(ctx) }) // the wrong ctx
		})
		if err != nil || began != 1 || waited != 0 {
			t.Errorf("%s: Run returned %v; it was called %d times, and has waited %d times", name, err, began, waited)
		}
	}
}
