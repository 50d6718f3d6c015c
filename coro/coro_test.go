package coro_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/coro"
)

// clean fails the test if it leaves a goroutine behind.
func clean(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		if n, ok := coro.Settle(before); !ok {
			t.Errorf("%d goroutines before the test, %d after", before, n)
		}
	})
}

// outcome calls f on a goroutine of its own and tells how that ended: what f
// returned, "panic: " and a value, or "Goexit".
func outcome(f func() string) string {
	ended := make(chan string)
	go func() {
		how := "Goexit"
		defer func() {
			if v := recover(); v != nil {
				how = fmt.Sprintf("panic: %v", v)
			}
			ended <- how
		}()
		how = f()
	}()
	return <-ended
}

// panicOf gives the value that f panics with, nil if it does not.
func panicOf(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// counter yields 1, 2, 3, ... whatever it is given.
func counter(_ struct{}, yield func(int) struct{}) int {
	for i := 1; ; i++ {
		yield(i)
	}
}

// TestResume hands values back and forth to the end and beyond.
func TestResume(t *testing.T) {
	clean(t)
	resume, cancel := coro.New(func(in int, yield func(string) int) string {
		for in != 0 {
			in = yield(fmt.Sprint("got ", in))
		}
		return "done"
	})
	defer cancel()
	for _, step := range []struct {
		in  int
		out string
		ok  bool
	}{{1, "got 1", true}, {2, "got 2", true}, {0, "done", false}, {3, "", false}, {4, "", false}} {
		if out, ok := resume(step.in); out != step.out || ok != step.ok {
			t.Fatalf("resume(%d) = %q, %v; want %q, %v", step.in, out, ok, step.out, step.ok)
		}
	}
}

// TestUnstarted: before the first resume a coroutine has not even a goroutine,
// and cancel leaves it without ever calling the function.
func TestUnstarted(t *testing.T) {
	clean(t)
	before := runtime.NumGoroutine()
	called := false
	resume, cancel := coro.New(func(int, func(int) int) int { called = true; return 0 })
	if n := runtime.NumGoroutine(); n != before {
		t.Errorf("New made %d goroutines", n-before)
	}
	cancel()
	cancel()
	if out, ok := resume(1); out != 0 || ok || called {
		t.Errorf("resume after cancel = %d, %v; function called: %v", out, ok, called)
	}
}

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

// TestCancelYieldInDefer: deferred calls that yield while the coroutine is being
// cancelled do not pause it, and do not keep the next deferred call from running.
func TestCancelYieldInDefer(t *testing.T) {
	clean(t)
	var log []string
	c := coro.Make(func(_ int, yield func(string) int) string {
		defer func() { log = append(log, "last") }()
		defer func() {
			defer func() { log = append(log, fmt.Sprint("again: ", errors.Is(recover().(error), coro.ErrCanceled))) }()
			yield("from the clean-up")
		}()
		yield("first")
		return "not reached"
	})
	c.Resume(0)
	c.Cancel()
	if got, want := fmt.Sprint(log), "[again: true last]"; got != want {
		t.Errorf("clean-up ran as %s, want %s", got, want)
	}
	if out, ok := c.Resume(0); out != "" || ok {
		t.Errorf("Resume after Cancel = %q, %v", out, ok)
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

// TestGoexit: a Goexit in the function is one in whoever waits for it, as with
// a call; the deferred calls of both run.
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

// TestStatus asks for the status from every side.
func TestStatus(t *testing.T) {
	clean(t)
	var outer, inner *coro.Coroutine[int, int]
	var seen []coro.Status
	look := func() { seen = append(seen, outer.Status(), inner.Status()) }
	inner = coro.Make(func(_ int, yield func(int) int) int {
		look()
		yield(1)
		look()
		return 0
	})
	outer = coro.Make(func(_ int, yield func(int) int) int {
		look()
		inner.Resume(0)
		look()
		yield(1)
		inner.Resume(0)
		look()
		return 0
	})
	look()
	outer.Resume(0)
	look()
	outer.Resume(0)
	look()
	want := []coro.Status{
		coro.Suspended, coro.Suspended, // before
		coro.Running, coro.Suspended, // outer
		coro.Normal, coro.Running, // inner
		coro.Running, coro.Suspended, // outer
		coro.Suspended, coro.Suspended, // here
		coro.Normal, coro.Running, // inner
		coro.Running, coro.Dead, // outer
		coro.Dead, coro.Dead,
	}
	if !slices.Equal(seen, want) {
		t.Errorf("statuses %v,\nwant     %v", seen, want)
	}
	if got := fmt.Sprint(coro.Suspended, coro.Running, coro.Normal, coro.Dead); got != "suspended running normal dead" {
		t.Errorf("the names are %s", got)
	}
}

// TestNil: what cannot work is refused at the call that asks for it, each time.
func TestNil(t *testing.T) {
	clean(t)
	var c coro.Coroutine[int, int]
	var g coro.Generator[int, int, int]
	for name, f := range map[string]func(){
		"Make":         func() { coro.Make[int, int](nil) },
		"New":          func() { coro.New[int, int](nil) },
		"Pull":         func() { coro.Pull[int](nil) },
		"NewGenerator": func() { coro.NewGenerator[int, int, int](nil) },
		"Coroutine":    func() { c.Resume(1) },
		"Generator":    func() { g.Next() },
		"Throw":        func() { coro.NewGenerator(none).Throw(nil) },
	} {
		for range 2 {
			if v, _ := panicOf(f).(string); !strings.HasPrefix(v, "coro: ") {
				t.Errorf("%s panicked with %v, want a sentence of package coro", name, v)
			}
		}
	}
}

func none(*coro.Yielder[int, int]) (int, error) { return 0, nil }

// TestYieldAfterEnd: a yield that outlived its coroutine panics with a sentence.
func TestYieldAfterEnd(t *testing.T) {
	clean(t)
	var kept func(int) int
	resume, _ := coro.New(func(_ int, yield func(int) int) int { kept = yield; return 0 })
	resume(0)
	if v, _ := panicOf(func() { kept(1) }).(string); !strings.Contains(v, "after the end") {
		t.Errorf("yield panicked with %q", v)
	}
	// If the end was a cancel, late yields are told what the others were.
	resume, cancel := coro.New(func(_ int, yield func(int) int) int { kept = yield; return yield(1) })
	resume(0)
	cancel()
	if err, _ := panicOf(func() { kept(1) }).(error); !errors.Is(err, coro.ErrCanceled) {
		t.Errorf("after cancel yield panicked with %v", err)
	}
}

// TestNoAllocations: neither a resume nor a yield allocates.
func TestNoAllocations(t *testing.T) {
	clean(t)
	c := coro.Make(counter)
	defer c.Cancel()
	pull, stop := coro.Pull(numbers)
	defer stop()
	g := coro.NewGenerator(func(y *coro.Yielder[int, int]) (int, error) {
		return coro.YieldFrom(y, coro.NewGenerator(func(y *coro.Yielder[int, int]) (int, error) {
			for i := 0; ; i++ {
				if _, err := y.Yield(i); err == coro.ErrClosed {
					return i, err
				}
			}
		}))
	})
	defer func() { _ = g.Close() }()
	g.Next()
	for name, f := range map[string]func(){
		"Resume": func() { c.Resume(struct{}{}) },
		"pull":   func() { pull() },
		"Next":   func() { g.Next() },
		"Send":   func() { _, _, _ = g.Send(1) },
		"Throw":  func() { _, _, _ = g.Throw(errors.ErrUnsupported) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}
