package kerneltest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
)

func TestPanicEndsRun(t *testing.T) {
	before := runtime.NumGoroutine()
	var log []string
	defer func() {
		v, ok := recover().(*rondo.PanicError)
		if !ok || v.Value != "oops" || v.Task != "bad" || !strings.Contains(string(v.Stack), "explode") {
			t.Errorf("recovered %v", v)
		}
		if !slices.Equal(log, []string{"other deferred"}) {
			t.Errorf("log %q", log)
		}
		if left := leak.Settle(before); left > before {
			t.Errorf("%d goroutines are left", left-before)
		}
	}()
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		rondo.Go(ctx, func(ctx context.Context) error {
			defer func() { log = append(log, "other deferred") }()
			return forever(ctx)
		})
		rondo.Go(ctx, func(ctx context.Context) error { explode(); return nil }).SetName("bad")
		return forever(ctx)
	})
	t.Errorf("Run returned %v instead of panicking", err)
}

//go:noinline
func explode() { panic("oops") }

func TestRecoverMakesPanicsErrors(t *testing.T) {
	r := rondo.Runner{Recover: true}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		err := rondo.Go(ctx, func(ctx context.Context) error { panic(errBroken) }).Wait(ctx)
		var p *rondo.PanicError
		if !errors.As(err, &p) || !errors.Is(err, errBroken) || len(p.Stack) == 0 {
			t.Errorf("the task's error is %v", err)
		}
		return rondo.Yield(ctx)
	})
	if err != nil {
		t.Errorf("Run returned %v", err)
	}
}

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
