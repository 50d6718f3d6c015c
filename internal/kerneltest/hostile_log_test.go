package kerneltest_test

import (
	"context"
	"log/slog"
	"testing"

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

// A hostileName is a name that panics if it is nil.
type hostileName struct{ text string }

func (n *hostileName) String() string { return n.text }

// TestHostileNames: what a task waits for may have a name of which String panics. Only people
// who look are told of it.
func TestHostileNames(t *testing.T) {
	for _, of := range []any{(*hostileName)(nil), (*string)(nil), panickingName{}} {
		run(t, func(ctx context.Context) error {
			list := rondo.WaitList{Of: of}
			waiter := rondo.Go(ctx, func(ctx context.Context) error { return list.Park(ctx, rondo.Reason{What: "hostile"}) })
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			if tasks := rondo.Tasks(ctx); len(tasks) != 2 || tasks[1].Waiting != "hostile" {
				t.Errorf("%T: the tasks are %+v", of, tasks)
			}
			list.Wake()
			return waiter.Wait(ctx)
		})
	}
}

type panickingName struct{}

func (panickingName) String() string { panic("hostile String") }
