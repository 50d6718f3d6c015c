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
