package coro_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/rondo-go/rondo/coro"
)

// TestCancelError: what comes out of the pending yield is ErrCanceled, another
// error for each coroutine, and cancel returns after the deferred calls.
func TestCancelError(t *testing.T) {
	clean(t)
	var seen []error
	for range 2 {
		c := coro.Make(func(_ int, yield func(int) int) int {
			defer func() {
				err, _ := recover().(error)
				seen = append(seen, err)
				panic(err)
			}()
			return yield(1)
		})
		c.Resume(0)
		c.Cancel()
		if c.Status() != coro.Dead || c.PanicStack() != nil {
			t.Errorf("after Cancel: %v, stack %q", c.Status(), c.PanicStack())
		}
	}
	if len(seen) != 2 || !errors.Is(seen[0], coro.ErrCanceled) || !errors.Is(seen[1], coro.ErrCanceled) {
		t.Fatalf("yields panicked with %v, want two ErrCanceled", seen)
	}
	if seen[0] == seen[1] || seen[0] == coro.ErrCanceled {
		t.Error("the error of a cancel is not its own")
	}
}

// TestCancelForeign: the error of another coroutine's cancel is a panic like
// any other, and so is one that wraps the coroutine's own.
func TestCancelForeign(t *testing.T) {
	clean(t)
	for _, wrap := range []func(error) error{
		func(error) error { return coro.ErrCanceled },
		func(err error) error { return fmt.Errorf("clean-up: %w", err) },
	} {
		c := coro.Make(func(_ int, yield func(int) int) int {
			defer func() { panic(wrap(recover().(error))) }()
			return yield(1)
		})
		c.Resume(0)
		if err, _ := panicOf(c.Cancel).(error); !errors.Is(err, coro.ErrCanceled) {
			t.Errorf("Cancel panicked with %v, want the function's own panic", err)
		}
	}
}

// TestCancelStubborn: a function that recovers every panic and goes on yielding
// is ended, its deferred calls run, and cancel's caller notices nothing.
func TestCancelStubborn(t *testing.T) {
	clean(t)
	yields, cleaned := 0, false
	c := coro.Make(func(_ int, yield func(int) int) int {
		defer func() { cleaned = true }()
		defer func() { yield(-1) }()
		for {
			func() {
				defer func() { _ = recover() }()
				yields++
				yield(yields)
			}()
		}
	})
	c.Resume(0)
	if got := outcome(func() string { c.Cancel(); return "returned" }); got != "returned" {
		t.Errorf("Cancel: %s", got)
	}
	if !cleaned || c.Status() != coro.Dead {
		t.Errorf("after Cancel: clean-up ran: %v, status %v", cleaned, c.Status())
	}
	if yields < 2 {
		t.Error("the first recovered panic already ended the function")
	}
}

// TestCancelStubbornPanics: a panic in the clean-up of such a function still
// reaches cancel's caller, and so does a panic when the Goexit is the function's.
func TestCancelStubbornPanics(t *testing.T) {
	clean(t)
	c := coro.Make(func(_ int, yield func(int) int) int {
		defer func() { panic("clean-up failed") }()
		for {
			func() {
				defer func() { _ = recover() }()
				yield(1)
			}()
		}
	})
	c.Resume(0)
	if v := panicOf(c.Cancel); v != "clean-up failed" {
		t.Errorf("Cancel panicked with %v", v)
	}
	c = coro.Make(func(int, func(int) int) int {
		defer func() { panic("after Goexit") }()
		runtime.Goexit()
		return 0
	})
	if v := panicOf(func() { c.Resume(0) }); v != "after Goexit" {
		t.Errorf("Resume panicked with %v", v)
	}
}
