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

// upTo yields 1 to n and returns their sum; it returns the error of a Yield.
func upTo(n int) *coro.Generator[int, string, int] {
	return coro.NewGenerator(func(y *coro.Yielder[int, string]) (sum int, err error) {
		for i := 1; i <= n; i++ {
			if _, err := y.Yield(i); err != nil {
				return sum, err
			}
			sum += i
		}
		return sum, nil
	})
}

// TestAll ranges to the end, leaves early in every way, and ranges again.
func TestAll(t *testing.T) {
	clean(t)
	g := upTo(4)
	if got := slices.Collect(g.All()); !slices.Equal(got, []int{1, 2, 3, 4}) {
		t.Errorf("All gives %v", got)
	}
	if sum, err := g.Result(); sum != 10 || err != nil {
		t.Errorf("Result = %d, %v", sum, err)
	}
	for name, leave := range map[string]func(){"panic": func() { panic("left") }, "Goexit": runtime.Goexit} {
		g := upTo(4)
		outcome(func() string {
			for range g.All() {
				leave()
			}
			return ""
		})
		if _, err := g.Result(); err != coro.ErrClosed {
			t.Errorf("left by %s: Result error %v", name, err)
		}
	}
	g = upTo(4)
	for v := range g.All() {
		if v == 2 {
			break
		}
	}
	if sum, err := g.Result(); sum != 1 || err != coro.ErrClosed {
		t.Errorf("after break: Result = %d, %v", sum, err)
	}
	if got := slices.Collect(g.All()); len(got) != 0 {
		t.Errorf("All of a closed generator gives %v", got)
	}
	g = upTo(4)
	g.Next()
	if got := slices.Collect(g.All()); !slices.Equal(got, []int{2, 3, 4}) {
		t.Errorf("All of a started generator gives %v", got)
	}
}

// TestCloseWrapped: an error that wraps ErrClosed is the answer to Close that it
// hopes for, not a failure.
func TestCloseWrapped(t *testing.T) {
	clean(t)
	g := coro.NewGenerator(func(y *coro.Yielder[int, int]) (int, error) {
		_, err := y.Yield(1)
		return 0, fmt.Errorf("at 1: %w", err)
	})
	g.Next()
	if err := g.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if _, err := g.Result(); !errors.Is(err, coro.ErrClosed) || !strings.Contains(err.Error(), "at 1") {
		t.Errorf("Result error: %v", err)
	}
}

// TestThrowClosed: ErrClosed that is thrown is an error like any other; only
// Close insists on the end.
func TestThrowClosed(t *testing.T) {
	clean(t)
	g := coro.NewGenerator(func(y *coro.Yielder[int, int]) (int, error) {
		for i := 0; ; i++ {
			if _, err := y.Yield(i); err != nil && i > 0 {
				return i, err
			}
		}
	})
	g.Next()
	if v, ok, err := g.Throw(coro.ErrClosed); v != 1 || !ok || err != nil {
		t.Errorf("Throw = %d, %v, %v", v, ok, err)
	}
	if v, ok, err := g.Throw(coro.ErrClosed); v != 0 || ok || err != coro.ErrClosed {
		t.Errorf("second Throw = %d, %v, %v", v, ok, err)
	}
}

// TestGeneratorPanic: the panic passes, and the result tells of it.
func TestGeneratorPanic(t *testing.T) {
	clean(t)
	cause := errors.New("cause")
	for _, value := range []any{"text", cause} {
		for name, run := range map[string]func(*coro.Generator[int, int, int]){
			"Next":  func(g *coro.Generator[int, int, int]) { g.Next() },
			"Send":  func(g *coro.Generator[int, int, int]) { _, _, _ = g.Send(1) },
			"Throw": func(g *coro.Generator[int, int, int]) { _, _, _ = g.Throw(cause) },
			"Close": func(g *coro.Generator[int, int, int]) { _ = g.Close() },
		} {
			g := coro.NewGenerator(func(y *coro.Yielder[int, int]) (int, error) {
				_, _ = y.Yield(1)
				explode(value)
				return 0, nil
			})
			g.Next()
			if v := panicOf(func() { run(g) }); v != value {
				t.Errorf("%s panicked with %v, want %v", name, v, value)
			}
			_, err := g.Result()
			if err == nil || !strings.Contains(err.Error(), fmt.Sprint(value)) || errors.Is(err, cause) != (value == any(cause)) {
				t.Errorf("%s: Result error: %v", name, err)
			}
			if !strings.Contains(string(g.PanicStack()), "coro_test.explode(") {
				t.Errorf("%s: the stack does not show the panic", name)
			}
		}
	}
}

// TestGeneratorGoexit: a Goexit passes too.
func TestGeneratorGoexit(t *testing.T) {
	clean(t)
	g := coro.NewGenerator(func(*coro.Yielder[int, int]) (int, error) {
		runtime.Goexit()
		return 1, nil
	})
	if got := outcome(func() string { g.Next(); return "returned" }); got != "Goexit" {
		t.Errorf("Next: %s", got)
	}
	if r, err := g.Result(); r != 0 || err == nil || errors.Is(err, coro.ErrNotFinished) {
		t.Errorf("Result = %d, %v", r, err)
	}
}

// relay makes a generator that does nothing but delegate to sub.
func relay(sub *coro.Generator[int, string, int]) *coro.Generator[int, string, int] {
	return coro.NewGenerator(func(y *coro.Yielder[int, string]) (int, error) {
		return coro.YieldFrom(y, sub)
	})
}

// TestYieldFromStates delegates to generators that have started, finished, been
// closed, or been thrown at.
func TestYieldFromStates(t *testing.T) {
	clean(t)
	thrown := errors.New("thrown")
	for _, test := range []struct {
		name    string
		prepare func(*coro.Generator[int, string, int])
		values  []int
		result  int
		err     error
	}{
		{"fresh", func(*coro.Generator[int, string, int]) {}, []int{1, 2, 3}, 6, nil},
		{"started", func(g *coro.Generator[int, string, int]) { g.Next() }, []int{2, 3}, 6, nil},
		{"finished", func(g *coro.Generator[int, string, int]) { _ = slices.Collect(g.All()) }, nil, 6, nil},
		{"closed", func(g *coro.Generator[int, string, int]) { _ = g.Close() }, nil, 0, coro.ErrClosed},
		{"thrown at", func(g *coro.Generator[int, string, int]) { _, _, _ = g.Throw(thrown) }, nil, 0, thrown},
	} {
		sub := upTo(3)
		test.prepare(sub)
		g := relay(relay(sub))
		values := slices.Collect(g.All())
		if result, err := g.Result(); !slices.Equal(values, test.values) || result != test.result || err != test.err {
			t.Errorf("%s: %v, then %d, %v; want %v, %d, %v", test.name, values, result, err, test.values, test.result, test.err)
		}
	}
}

// TestYieldFromStolen: an error thrown at a sub that somebody else has finished
// in the meantime is not lost.
func TestYieldFromStolen(t *testing.T) {
	clean(t)
	sub := upTo(2)
	g := relay(sub)
	g.Next()
	_ = slices.Collect(sub.All())
	thrown := errors.New("thrown")
	if _, ok, err := g.Throw(thrown); ok || err != thrown {
		t.Errorf("Throw = %v, %v", ok, err)
	}
}

// TestYieldFromUnwound: sub is closed when the delegating generator is ended by
// a panic in the middle, and when ErrClosed is thrown.
func TestYieldFromUnwound(t *testing.T) {
	clean(t)
	sub := upTo(3)
	g := coro.NewGenerator(func(y *coro.Yielder[int, string]) (int, error) {
		_, _ = y.Yield(0)             // ignores ErrClosed,
		return coro.YieldFrom(y, sub) // which ends it here
	})
	g.Next()
	if err := g.Close(); err != coro.ErrIgnoredClose {
		t.Errorf("Close: %v", err)
	}
	if _, err := sub.Result(); err != coro.ErrClosed {
		t.Errorf("result of sub: %v", err)
	}

	sub = upTo(3)
	g = relay(sub)
	g.Next()
	if _, ok, err := g.Throw(coro.ErrClosed); ok || err != coro.ErrClosed {
		t.Errorf("Throw: %v, %v", ok, err)
	}
	if _, err := sub.Result(); err != coro.ErrClosed {
		t.Errorf("result of sub: %v", err)
	}
}
