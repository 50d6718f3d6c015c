package coro_test

// What Python's generators promise (PEP 255, 342, 380, 479), one promise a test.
// The numbers are those of the list of what event loops and coroutines are
// expected to do. Models of all of it are in model_test.go and
// generator_model_test.go.

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/coro"
)

// A number generator yields ints and is sent ints.
type number = coro.Generator[int, int, int]

func yielder(body func(y *coro.Yielder[int, int]) (int, error)) *number {
	return coro.NewGenerator(body)
}

// TestC001NotResumed: a coroutine that is never resumed does not run, and has no
// goroutine.
func TestC001NotResumed(t *testing.T) {
	clean(t)
	ran := false
	coro.New(func(in int, yield func(int) int) int { ran = true; return 0 })
	coro.Pull(func(func(int) bool) { ran = true })
	yielder(func(*coro.Yielder[int, int]) (int, error) { ran = true; return 0, nil })
	if ran {
		t.Error("a body has run")
	}
}

// TestC002YieldsAndReturns: Next returns the values and then false. Result
// returns what the body returned.
func TestC002YieldsAndReturns(t *testing.T) {
	clean(t)
	g := yielder(func(y *coro.Yielder[int, int]) (int, error) {
		_, _ = y.Yield(1)
		_, _ = y.Yield(2)
		return 9, nil
	})
	for _, want := range []int{1, 2} {
		if _, err := g.Result(); err != coro.ErrNotFinished {
			t.Errorf("Result before the end: %v", err)
		}
		if v, ok := g.Next(); v != want || !ok {
			t.Errorf("Next = %d, %v, want %d", v, ok, want)
		}
	}
	if v, ok := g.Next(); v != 0 || ok {
		t.Errorf("Next at the end = %d, %v", v, ok)
	}
	if r, err := g.Result(); r != 9 || err != nil {
		t.Errorf("Result = %d, %v", r, err)
	}
}

// TestC003Send: Send makes the pending Yield return the value that was sent, and
// returns the next value.
func TestC003Send(t *testing.T) {
	clean(t)
	g := yielder(func(y *coro.Yielder[int, int]) (int, error) {
		x, err := y.Yield(1)
		if err != nil {
			return 0, err
		}
		_, err = y.Yield(10 * x)
		return x, err
	})
	g.Next()
	if v, ok, err := g.Send(5); v != 50 || !ok || err != nil {
		t.Errorf("Send = %d, %v, %v", v, ok, err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

// TestC004SendNotStarted: Send to a Generator that has not started returns
// ErrNotStarted. The Generator can still be used.
func TestC004SendNotStarted(t *testing.T) {
	clean(t)
	g := yielder(func(y *coro.Yielder[int, int]) (int, error) { return y.Yield(1) })
	if _, ok, err := g.Send(5); ok || err != coro.ErrNotStarted {
		t.Errorf("Send = %v, %v", ok, err)
	}
	if v, ok := g.Next(); v != 1 || !ok {
		t.Errorf("Next = %d, %v", v, ok)
	}
	if v, ok, err := g.Send(7); ok || err != nil {
		t.Errorf("Send = %d, %v, %v", v, ok, err)
	}
	if r, err := g.Result(); r != 7 || err != nil {
		t.Errorf("Result = %d, %v", r, err)
	}
}

// TestC005ThrowIsHandled: Throw returns the next value if the body handles the
// error.
func TestC005ThrowIsHandled(t *testing.T) {
	clean(t)
	g := yielder(func(y *coro.Yielder[int, int]) (int, error) {
		if _, err := y.Yield(1); err != errThrown {
			t.Errorf("Yield returned %v", err)
		}
		return y.Yield(2)
	})
	g.Next()
	if v, ok, err := g.Throw(errThrown); v != 2 || !ok || err != nil {
		t.Errorf("Throw = %d, %v, %v", v, ok, err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

// TestC007NextAfterEnd: after the end Next returns false each time, and Result
// stays the same.
func TestC007NextAfterEnd(t *testing.T) {
	clean(t)
	g := yielder(func(*coro.Yielder[int, int]) (int, error) { return 9, errThrown })
	for range 3 {
		if v, ok := g.Next(); v != 0 || ok {
			t.Errorf("Next = %d, %v", v, ok)
		}
		if r, err := g.Result(); r != 9 || err != errThrown {
			t.Errorf("Result = %d, %v", r, err)
		}
	}
}

// TestC008CloseCleansUp: the clean-up of the body has run when Close returns.
// After that Result returns ErrClosed, or the result of a body that handles the
// end and returns one.
func TestC008CloseCleansUp(t *testing.T) {
	clean(t)
	for _, handles := range []bool{false, true} {
		cleaned := false
		g := yielder(func(y *coro.Yielder[int, int]) (int, error) {
			defer func() { cleaned = true }()
			if _, err := y.Yield(1); err != nil && !handles {
				return 0, err
			}
			return 9, nil
		})
		g.Next()
		if err := g.Close(); err != nil || !cleaned {
			t.Errorf("Close = %v; clean-up has run: %v", err, cleaned)
		}
		r, err := g.Result()
		if handles && (r != 9 || err != nil) || !handles && (r != 0 || err != coro.ErrClosed) {
			t.Errorf("handles %v: Result = %d, %v", handles, r, err)
		}
	}
}

// TestC010YieldInCleanUp: Close returns ErrIgnoredClose if the body yields in its
// clean-up. The body has ended then.
func TestC010YieldInCleanUp(t *testing.T) {
	clean(t)
	g := yielder(func(y *coro.Yielder[int, int]) (int, error) {
		defer func() { _, _ = y.Yield(2) }()
		return y.Yield(1)
	})
	g.Next()
	if err := g.Close(); err != coro.ErrIgnoredClose {
		t.Errorf("Close = %v", err)
	}
	if _, err := g.Result(); err != coro.ErrIgnoredClose {
		t.Errorf("Result error %v", err)
	}
}

// TestC011CloseNotStarted: after Close of a Generator that has not started its
// body never runs.
func TestC011CloseNotStarted(t *testing.T) {
	clean(t)
	g := yielder(func(*coro.Yielder[int, int]) (int, error) { t.Error("the body has run"); return 0, nil })
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if _, ok := g.Next(); ok {
		t.Error("a value after Close")
	}
}

// TestC013CloseTwice: a second Close does nothing and returns nil.
func TestC013CloseTwice(t *testing.T) {
	clean(t)
	runs := 0
	g := yielder(func(y *coro.Yielder[int, int]) (int, error) {
		defer func() { runs++ }()
		_, _ = y.Yield(1)
		return 0, errThrown
	})
	g.Next()
	if err := g.Close(); err != errThrown {
		t.Errorf("Close = %v", err)
	}
	if err := g.Close(); err != nil || runs != 1 {
		t.Errorf("the second Close = %v; clean-up has run %d times", err, runs)
	}
}

// TestC014ResumedFromInside: Next, Send, Throw, Close and a YieldFrom of itself from inside the
// body, or a generator that the body runs, are refused with ErrRunning. What returns no error
// panics with it. The Generator goes on.
func TestC014ResumedFromInside(t *testing.T) {
	clean(t)
	var g *number
	try := func() {
		refused(t, "Next", func() { g.Next() })
		refused(t, "All", func() {
			for range g.All() {
			}
		})
		_, _, sent := g.Send(1)
		_, _, thrown := g.Throw(errThrown)
		_, result := g.Result()
		if closed := g.Close(); sent != coro.ErrRunning || thrown != coro.ErrRunning || closed != coro.ErrRunning || result != coro.ErrNotFinished {
			t.Errorf("Send: %v, Throw: %v, Close: %v, Result: %v", sent, thrown, closed, result)
		}
	}
	g = yielder(func(y *coro.Yielder[int, int]) (int, error) {
		try()
		inner := yielder(func(y *coro.Yielder[int, int]) (int, error) {
			try()
			return y.Yield(2)
		})
		defer func() { _ = inner.Close() }()
		refused(t, "YieldFrom of itself", func() { _, _ = coro.YieldFrom(y, g) })
		v, _ := inner.Next()
		return y.Yield(v)
	})
	if v, ok := g.Next(); v != 2 || !ok {
		t.Errorf("Next = %d, %v", v, ok)
	}
	if v, ok, err := g.Send(7); v != 0 || ok || err != nil {
		t.Errorf("Send = %d, %v, %v", v, ok, err)
	}
	if r, err := g.Result(); r != 7 || err != nil {
		t.Errorf("Result = %d, %v", r, err)
	}
}

// TestC015SentinelIsNoEnd: an error that the body returns is the error of the
// Generator, also if it is one of package coro's own. It is never taken for an
// end without an error.
//
// Python turns a StopIteration that leaves the body into a RuntimeError.
func TestC015SentinelIsNoEnd(t *testing.T) {
	clean(t)
	for _, sentinel := range []error{coro.ErrClosed, coro.ErrNotFinished, coro.ErrCanceled, errThrown} {
		g := yielder(func(y *coro.Yielder[int, int]) (int, error) {
			if _, err := y.Yield(1); err != nil {
				return 0, err
			}
			return 0, sentinel
		})
		g.Next()
		if _, ok, err := g.Send(0); ok || err != sentinel {
			t.Errorf("Send = %v, %v, want %v", ok, err, sentinel)
		}
		if _, err := g.Result(); err != sentinel {
			t.Errorf("Result error %v, want %v", err, sentinel)
		}
	}
}

// TestC016Delegation: in YieldFrom, what is sent to the outer Generator or thrown
// at it reaches the inner one.
func TestC016Delegation(t *testing.T) {
	clean(t)
	var got []any
	g := yielder(func(y *coro.Yielder[int, int]) (int, error) {
		return coro.YieldFrom(y, yielder(func(y *coro.Yielder[int, int]) (int, error) {
			for i := 1; ; i++ {
				v, err := y.Yield(i)
				if got = append(got, v, err); errors.Is(err, coro.ErrClosed) {
					return 0, err
				}
			}
		}))
	})
	g.Next()
	_, _, _ = g.Send(5)
	v, ok, err := g.Throw(errThrown)
	if v != 3 || !ok || err != nil {
		t.Errorf("Throw = %d, %v, %v", v, ok, err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if !slices.Equal(got, []any{5, error(nil), 0, errThrown, 0, coro.ErrClosed}) {
		t.Errorf("the inner one got %v", got)
	}
}

// TestC018DelegationResult: YieldFrom returns the result of the inner Generator.
func TestC018DelegationResult(t *testing.T) {
	clean(t)
	g := yielder(func(y *coro.Yielder[int, int]) (int, error) {
		v, err := coro.YieldFrom(y, yielder(func(y *coro.Yielder[int, int]) (int, error) { return 7, errThrown }))
		if v != 7 || err != errThrown {
			t.Errorf("YieldFrom = %d, %v", v, err)
		}
		return 2 * v, nil
	})
	g.Next()
	if r, err := g.Result(); r != 14 || err != nil {
		t.Errorf("Result = %d, %v", r, err)
	}
}

// TestC020PanicReachesResumer: a panic of the body comes out of Resume with its
// value, and PanicStack returns the stack of the body.
func TestC020PanicReachesResumer(t *testing.T) {
	clean(t)
	c := coro.Make(func(int, func(int) int) int { explode("exploded"); return 0 })
	if v := panicOf(func() { c.Resume(0) }); v != "exploded" {
		t.Errorf("Resume panicked with %v", v)
	}
	if !strings.Contains(string(c.PanicStack()), "coro_test.explode") {
		t.Errorf("the stack is\n%s", c.PanicStack())
	}
}
