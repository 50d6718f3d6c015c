package rondo_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// TestMain counts goroutines: coroutines are goroutines too, so whatever a loop
// or a test leaves behind shows here.
func TestMain(m *testing.M) {
	before := runtime.NumGoroutine()
	code := m.Run()
	if left := settle(before); left > before && code == 0 {
		fmt.Printf("%d goroutines were left behind:\n%s", left-before, stacks())
		code = 1
	}
	os.Exit(code)
}

// settle waits for goroutines that are on their way out: one that has sent its
// last word may still be running its last instructions.
func settle(want int) int {
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); runtime.Gosched() {
		if runtime.NumGoroutine() <= want {
			break
		}
	}
	return runtime.NumGoroutine()
}

func stacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}

// run runs main on a real loop and fails the test if it returns an error.
func run(t *testing.T, main func(ctx context.Context) error) {
	t.Helper()
	before := runtime.NumGoroutine()
	if err := rondo.Run(t.Context(), main); err != nil {
		t.Errorf("Run: %v", err)
	}
	if left := settle(before); left > before {
		t.Errorf("Run left %d goroutines", left-before)
	}
}
