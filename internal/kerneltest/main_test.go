package kerneltest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/sim"
)

// TestMain counts goroutines and descriptors. A coroutine is a goroutine too, so
// what a loop or a test leaves behind shows here.
func TestMain(m *testing.M) { leak.Main(m) }

// run runs main on a real loop and fails the test if it returns an error, or if
// goroutines are left.
func run(t *testing.T, main func(ctx context.Context) error) {
	t.Helper()
	before := runtime.NumGoroutine()
	if err := rondo.Run(t.Context(), main); err != nil {
		t.Errorf("Run: %v", err)
	}
	if left := leak.Settle(before); left > before {
		t.Errorf("Run left %d goroutines", left-before)
	}
}

var errBroken = errors.New("broken")

// forever waits until its scope is cancelled and returns why.
func forever(ctx context.Context) error {
	var never rondo.Event
	return never.Wait(ctx)
}

var errStop = errors.New("stop")

// panics fails t unless fn panics with a text that has want in it.
func panics(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if v := recover(); !strings.Contains(fmt.Sprint(v), want) {
			t.Errorf("panic %v, want %q", v, want)
		}
	}()
	f()
}

// panicOf runs fn and returns the text of its panic, "" if there was none.
func panicOf(fn func()) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprint(v)
		}
	}()
	fn()
	return ""
}

// after returns a function that returns v and err when d has passed.
func after[T any](d time.Duration, v T, err error) func(ctx context.Context) (T, error) {
	return func(ctx context.Context) (T, error) {
		if err := rondo.Sleep(ctx, d); err != nil {
			var none T
			return none, err
		}
		return v, err
	}
}

func double(_ context.Context, n int) (int, error) { return 2 * n, nil }

// exact is for tests that compare times, count turns, or have a model in which an operation takes
// effect at once: nothing is late in any seed, and no turn is lost.
var exact = sim.Config{Exact: true}
