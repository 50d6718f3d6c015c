package kerneltest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rondo-go/rondo"
)

// TestPanicErrorStays: the error of a panic that others have, on other loops too, does not
// change when Run panics with it.
func TestPanicErrorStays(t *testing.T) {
	var theirs error
	defer func() {
		thrown, ok := recover().(*rondo.PanicError)
		if !ok || !strings.Contains(thrown.Error(), "explode") {
			t.Errorf("recovered %v", thrown)
		}
		if theirs == nil || strings.Contains(theirs.Error(), "\n") {
			t.Errorf("another task has %v", theirs)
		}
	}()
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		rondo.Go(ctx, func(ctx context.Context) error { explode(); return nil })
		theirs = forever(ctx)
		return theirs
	})
	t.Errorf("Run returned %v instead of panicking", err)
}

//go:noinline
func explode() { panic("oops") }

// TestPanicInCallback: a panic in a callback ends Run. The task on whose stack it
// happened is cancelled like the others; the panic does not unwind it.
func TestPanicInCallback(t *testing.T) {
	var innocent error
	defer func() {
		v, ok := recover().(*rondo.PanicError)
		if !ok || v.Value != "oops" || v.Task != "a callback" {
			t.Errorf("recovered %v", v)
		}
		if !errors.As(innocent, &v) {
			t.Errorf("the wait of main returned %v", innocent)
		}
	}()
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		rondo.LoopOf(ctx).CallSoon(explode)
		innocent = forever(ctx)
		return innocent
	})
	t.Errorf("Run returned %v instead of panicking", err)
}

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
