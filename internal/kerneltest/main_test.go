package kerneltest

import (
	"context"
	"runtime"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
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
