package kerneltest_test

// The stacks that a PanicError has when the panic has left coroutines.

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/coro"
)

// Functions that are looked for in stacks.

//go:noinline
func panicDeep(v any) { panic(v) }

//go:noinline
func callNext(next func() (int, bool)) { next() }

//go:noinline
func callInner(next func() (int, bool)) { next() }

//go:noinline
func callStop(stop func()) { stop() }

// failing is a sequence that panics with v when it is asked for its first value, or
// is stopped after it.
func failing(v any, at int) iter.Seq[int] {
	return func(yield func(int) bool) {
		if at == 1 {
			yield(0)
		}
		panicDeep(v)
	}
}

// panicked runs body in a task and returns the PanicError that ends it.
func panicked(t *testing.T, body func(ctx context.Context)) *rondo.PanicError {
	t.Helper()
	r := rondo.Runner{Recover: true}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		return rondo.Go(ctx, func(ctx context.Context) error { body(ctx); return nil }).Wait(ctx)
	})
	e, ok := errors.AsType[*rondo.PanicError](err)
	if !ok {
		t.Fatalf("Run returned %v", err)
	}
	return e
}

// wantInOrder fails t unless the parts follow each other in the text.
func wantInOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, p := range parts {
		_, after, found := strings.Cut(rest, p)
		if !found {
			t.Errorf("%q is not there, or not behind what is to come before it:\n%s", p, text)
			return
		}
		rest = after
	}
}

// TestPanicLeavesCoroutine: for each way to make a coroutine, the panic of its body
// has the body's stack, and below it that of the task.
func TestPanicLeavesCoroutine(t *testing.T) {
	for name, nest := range nests {
		t.Run(name, func(t *testing.T) {
			for _, v := range []any{"boom", errors.New("boom"), []int{1}} {
				e := panicked(t, func(context.Context) {
					next, _ := nest(failing(v, 0))
					callNext(next)
				})
				if fmt.Sprint(e.Value) != fmt.Sprint(v) {
					t.Errorf("the value is %v", e.Value)
				}
				if name == "iter.Pull" {
					wantInOrder(t, string(e.Stack), "kerneltest_test.callNext(")
					continue
				}
				long := fmt.Sprintf("%+v", e)
				wantInOrder(t, long, "rondo: panic in task-2: ", "kerneltest_test.panicDeep(", "\n\nresumed by goroutine ", "]:\ngithub.com/rondo-go/rondo/internal/kerneltest_test.", "callNext(")
				if lines := strings.SplitN(long, "\n", 6); !strings.Contains(lines[1], "panicDeep") || !strings.Contains(lines[4], "panicDeep") || strings.Contains(e.Error(), "\n") {
					t.Errorf("the stack does not begin with the line that panicked, or Error is more than one line:\n%s", long)
				}
			}
		})
	}
}

// TestPanicLeavesManyCoroutines: coroutines in a coroutine, one that waits for the
// next value of a Pull, and an iter.Pull in between.
func TestPanicLeavesManyCoroutines(t *testing.T) {
	around := func(next func() (int, bool)) iter.Seq[int] {
		return func(func(int) bool) { callInner(next) }
	}
	e := panicked(t, func(context.Context) {
		inner, _ := coro.Pull(failing("boom", 0))
		outer, _ := coro.Pull(around(inner))
		callNext(outer)
	})
	wantInOrder(t, string(e.Stack), "panicDeep(", "\n\nresumed by goroutine ", "callInner(", "\n\nresumed by goroutine ", "callNext(")

	e = panicked(t, func(ctx context.Context) {
		inner, _ := rondo.Pull(ctx, failing("boom", 0))
		outer, _ := coro.Pull(around(inner))
		callNext(outer)
	})
	wantInOrder(t, string(e.Stack), "panicDeep(", "\n\nnext called at goroutine ", "callInner(", "\n\nresumed by goroutine ", "callNext(")

	e = panicked(t, func(ctx context.Context) {
		inner, _ := coro.Pull(failing("boom", 0))
		outer, _ := rondo.Pull(ctx, around(inner))
		callNext(outer)
	})
	wantInOrder(t, string(e.Stack), "panicDeep(", "\n\nresumed by goroutine ", "callInner(", "\n\nnext called at goroutine ", "callNext(")

	e = panicked(t, func(context.Context) {
		inner, _ := coro.Pull(failing("boom", 0))
		outer, _ := iter.Pull(around(inner))
		callNext(outer)
	})
	wantInOrder(t, string(e.Stack), "panicDeep(", "\n\nresumed by goroutine ", "callNext(")
}

// TestPanicOfPull: the stack of the sequence, and below it where next or stop was
// called.
func TestPanicOfPull(t *testing.T) {
	e := panicked(t, func(ctx context.Context) {
		next, _ := rondo.Pull(ctx, failing("boom", 0))
		callNext(next)
	})
	wantInOrder(t, fmt.Sprintf("%+v", e), "rondo: panic in task-3: boom", "panicDeep(", "\n\nnext called at goroutine ", "]:\ngithub.com/rondo-go/rondo/internal/kerneltest_test.callNext(")

	e = panicked(t, func(ctx context.Context) {
		next, stop := rondo.Pull(ctx, failing("boom", 1))
		next()
		callStop(stop)
	})
	wantInOrder(t, string(e.Stack), "panicDeep(", "\n\nstop called at goroutine ", "callStop(")
}

// TestPanicAfterPanic: a panic of a coroutine that was recovered is not taken for one
// that the task begins later, with the same value.
func TestPanicAfterPanic(t *testing.T) {
	e := panicked(t, func(context.Context) {
		next, _ := coro.Pull(failing("boom", 0))
		_ = panicOf(func() { next() })
		panicDeep("boom")
	})
	if strings.Contains(string(e.Stack), "resumed by") {
		t.Errorf("the stack has a coroutine that has nothing to do with it:\n%s", e.Stack)
	}
}

// TestPanicOfCoroutineInMany: the stacks are there also where the panic of a task is
// an error of a function that runs several, and in a callback.
func TestPanicOfCoroutineInMany(t *testing.T) {
	fail := func(context.Context) (int, error) {
		next, _ := coro.Pull(failing("boom", 0))
		callNext(next)
		return 0, nil
	}
	r := rondo.Runner{Recover: true}
	var results []rondo.Result[int]
	_ = r.Run(t.Context(), func(ctx context.Context) error {
		results = rondo.Settle(ctx, fail)
		return nil
	})
	e, _ := errors.AsType[*rondo.PanicError](results[0].Err)
	if e == nil {
		t.Fatalf("the error of the function is %v", results[0].Err)
	}
	wantInOrder(t, string(e.Stack), "panicDeep(", "\n\nresumed by goroutine ", "callNext(")

	defer func() {
		e, _ := recover().(*rondo.PanicError)
		if e == nil {
			t.Fatal("Run has not panicked")
		}
		wantInOrder(t, string(e.Stack), "panicDeep(", "\n\nresumed by goroutine ", "callNext(")
	}()
	_ = rondo.Run(t.Context(), func(ctx context.Context) error {
		rondo.LoopOf(ctx).CallSoon(func() { _, _ = fail(ctx) })
		return rondo.Sleep(ctx, 1)
	})
}
