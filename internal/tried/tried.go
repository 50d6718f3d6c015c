// Package tried runs tests that are to fail, and records what they say.
package tried

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A T takes the place of the testing.T of such a test. Any goroutine may use it. A method
// of testing.TB that is not below must not be called.
type T struct {
	testing.TB // nil

	mu      sync.Mutex
	failed  bool
	skipped bool
	lines   []string
}

// Run runs a test on a goroutine of its own. It returns its T, and whether it returned.
func Run(test func(t *T)) (t *T, returned bool) {
	t = new(T)
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(t)
		returned = true
	}()
	<-done
	return t, returned
}

// Text returns what the test has printed.
func (t *T) Text() string { return strings.Join(t.Lines(), "") }

// Lines returns what the test has printed, one for each time.
func (t *T) Lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.lines)
}

// Helper does nothing.
func (t *T) Helper() {}

// Name returns the same name for each.
func (t *T) Name() string { return "TestTried" }

// Failed reports whether the test has failed.
func (t *T) Failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

// Skipped reports whether the test was skipped.
func (t *T) Skipped() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.skipped
}

// Fail notes that the test has failed.
func (t *T) Fail() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = true
}

// FailNow is Fail, and ends the goroutine.
func (t *T) FailNow() {
	t.Fail()
	runtime.Goexit()
}

// SkipNow notes that the test is skipped, and ends the goroutine.
func (t *T) SkipNow() {
	t.mu.Lock()
	t.skipped = true
	t.mu.Unlock()
	runtime.Goexit()
}

// Log prints a line.
func (t *T) Log(args ...any) { t.print(fmt.Sprintln(args...)) }

// Logf prints a line.
func (t *T) Logf(format string, args ...any) { t.print(fmt.Sprintf(format, args...) + "\n") }

// Error is Log and Fail.
func (t *T) Error(args ...any) {
	t.Log(args...)
	t.Fail()
}

// Errorf is Logf and Fail.
func (t *T) Errorf(format string, args ...any) {
	t.Logf(format, args...)
	t.Fail()
}

// Fatal is Log and FailNow.
func (t *T) Fatal(args ...any) {
	t.Log(args...)
	t.FailNow()
}

// Fatalf is Logf and FailNow.
func (t *T) Fatalf(format string, args ...any) {
	t.Logf(format, args...)
	t.FailNow()
}

func (t *T) print(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
}
