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

// panicOf returns the value that f panics with, nil if it does not.
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

func numbers(yield func(int) bool) {
	for i := 0; yield(i); i++ {
	}
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
