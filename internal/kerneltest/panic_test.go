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
