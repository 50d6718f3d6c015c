package kerneltest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/rondo-go/rondo"
)

//go:noinline
func explode() { panic("oops") }

// TestPanicTexts: a PanicError is one line, also as the cause of others; with %+v,
// and in what Run panics with, the stack follows and begins with the function that
// panicked.
func TestPanicTexts(t *testing.T) {
	text := panicOf(func() {
		_ = rondo.Run(context.Background(), func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(ctx context.Context) error {
					sibling := forever(ctx)
					check(t, fmt.Sprint(sibling), fmt.Sprintf("%+v", sibling))
					return nil
				})
				g.Go(func(ctx context.Context) error {
					rondo.Current(ctx).SetName("bad")
					_ = rondo.Yield(ctx)
					var no *rondo.PanicError
					no.Task = "a runtime error"
					return nil
				})
				return nil
			})
		})
	})
	check(t, "rondo: panic in bad: runtime error: invalid memory address or nil pointer dereference", text)
	// The panic of a Run inside an Offload, which a task returns, is an error like any other.
	r := rondo.Runner{Recover: true}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		return rondo.OffloadFunc(ctx, func(context.Context) error {
			return rondo.Run(context.Background(), func(context.Context) error { explode(); return nil })
		})
	})
	if line := fmt.Sprint(err); line != "rondo: panic in main: oops" {
		t.Errorf("the panic of a Run inside an Offload is the error %q", line)
	}
	check(t, fmt.Sprint(err), fmt.Sprintf("%+v", err))
}

// check fails t unless line is the one line of long, the next names a line of this
// file, and the stack begins with this package or with package rondo.
func check(t *testing.T, line, long string) {
	t.Helper()
	lines := strings.Split(long, "\n")
	if strings.Contains(line, "\n") || lines[0] != line || len(lines) < 5 || !strings.Contains(lines[1], "panic_test.go:") ||
		!strings.HasPrefix(lines[3], "goroutine ") || !strings.HasPrefix(lines[4], "github.com/") {
		t.Errorf("the line is %q, the long text\n%s", line, long)
	}
}
