package coro_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/coro"
)

// explode is a function to look for in a stack.
//
//go:noinline
func explode(v any) { panic(v) }

// TestPanic: the resumer gets the same value, of whatever type, and the handle
// has the stack that it comes from.
func TestPanic(t *testing.T) {
	clean(t)
	type odd struct{ s []int } // cannot be compared
	value := &odd{}
	for _, v := range []any{"text", 7, value, errors.New("error"), odd{[]int{1}}} {
		c := coro.Make(func(_ int, yield func(int) int) int {
			yield(1)
			explode(v)
			return 0
		})
		c.Resume(0)
		if c.PanicStack() != nil {
			t.Error("a stack before the panic")
		}
		got := panicOf(func() { c.Resume(0) })
		if fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", v) || v == any(value) && got != any(value) {
			t.Errorf("Resume panicked with %#v, want %#v", got, v)
		}
		if !strings.Contains(string(c.PanicStack()), "coro_test.explode(") {
			t.Errorf("PanicStack does not show the panic:\n%s", c.PanicStack())
		}
		if out, ok := c.Resume(0); out != 0 || ok || c.Status() != coro.Dead {
			t.Errorf("after the panic: Resume = %d, %v; %v", out, ok, c.Status())
		}
	}
	c := coro.Make(func(int, func(int) int) int { panic(nil) })
	if _, ok := panicOf(func() { c.Resume(0) }).(*runtime.PanicNilError); !ok {
		t.Error("panic(nil) was not passed on")
	}
}

// TestPanicThroughMany: a panic passes through coroutines that wait for each
// other to the first that is not one; the innermost handle has its origin.
func TestPanicThroughMany(t *testing.T) {
	clean(t)
	cs := make([]*coro.Coroutine[int, int], 4)
	for i := range cs {
		cs[i] = coro.Make(func(in int, _ func(int) int) int {
			if i+1 == len(cs) {
				explode("deep down")
			}
			out, _ := cs[i+1].Resume(in)
			return out
		})
	}
	if v := panicOf(func() { cs[0].Resume(1) }); v != "deep down" {
		t.Fatalf("Resume panicked with %v", v)
	}
	for i, c := range cs {
		if c.Status() != coro.Dead || c.PanicStack() == nil {
			t.Errorf("coroutine %d: %v, stack of %d bytes", i, c.Status(), len(c.PanicStack()))
		}
		if got, want := strings.Contains(string(c.PanicStack()), "coro_test.explode("), i+1 == len(cs); got != want {
			t.Errorf("coroutine %d: stack shows the origin: %v, want %v", i, got, want)
		}
	}
}

// TestGoexit: a Goexit in the function is one in the caller that waits for it, as
// with a call; the deferred calls of both run.
func TestGoexit(t *testing.T) {
	clean(t)
	cleaned := false
	c := coro.Make(func(_ int, yield func(int) int) int {
		defer func() { cleaned = true }()
		yield(1)
		runtime.Goexit()
		return 0
	})
	c.Resume(0)
	if got := outcome(func() string { c.Resume(0); return "returned" }); got != "Goexit" {
		t.Errorf("Resume: %s, want Goexit", got)
	}
	if !cleaned || c.Status() != coro.Dead || c.PanicStack() != nil {
		t.Errorf("after Goexit: clean-up ran: %v, %v, stack %q", cleaned, c.Status(), c.PanicStack())
	}
	c.Cancel()
}
