package libraries

import (
	"context"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
)

// TestMain checks that the tests leave no goroutine and no file descriptor behind.
func TestMain(m *testing.M) { leak.Main(m) }

// run runs body on a loop, as a test.
func run(t testing.TB, body func(ctx context.Context) error) {
	t.Helper()
	if err := rondo.Run(t.Context(), body); err != nil {
		t.Error(err)
	}
}

// all runs fn in n tasks at once, numbered from 0.
func all(ctx context.Context, n int, fn func(ctx context.Context, i int) error) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		for i := range n {
			g.Go(func(ctx context.Context) error { return fn(ctx, i) })
		}
		return nil
	})
}

// until lets other tasks run until a condition holds that they, or goroutines, bring about.
func until(ctx context.Context, done func() bool) error {
	for !done() {
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
	}
	return nil
}
