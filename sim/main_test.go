package sim_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain checks that no run leaves a goroutine behind.
func TestMain(m *testing.M) {
	before := runtime.NumGoroutine()
	if runtime.GOOS == "js" {
		before++ // the runtime starts one at the first event of node that it has to wait for, and keeps it
	}
	code := m.Run()
	if os.Getenv(victim) != "" {
		os.Exit(code) // runs that do not end are left
	}
	// A goroutine that has done its work may still be about to end.
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); runtime.Gosched() {
		if runtime.NumGoroutine() <= before {
			break
		}
	}
	if n := runtime.NumGoroutine(); n > before {
		fmt.Fprintf(os.Stderr, "%d goroutines before the tests, %d after\n", before, n)
		code = 1
	}
	os.Exit(code)
}

// victim is the environment variable that makes TestVictim run.
const victim = "RONDO_SIM_VICTIM"

// A tester takes the place of the T of a test that must fail.
type tester struct {
	testing.TB // nil: what is not below must not be called
	name       string

	mu      sync.Mutex
	failed  bool
	skipped bool
	text    []string
}

func (t *tester) Helper()      {}
func (t *tester) Name() string { return t.name }

func (t *tester) Failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

func (t *tester) Skipped() bool { return t.skipped }

func (t *tester) FailNow() {
	t.fail()
	runtime.Goexit()
}

func (t *tester) SkipNow() {
	t.skipped = true
	runtime.Goexit()
}

func (t *tester) Log(args ...any)                 { t.log(fmt.Sprintln(args...)) }
func (t *tester) Logf(format string, args ...any) { t.log(fmt.Sprintf(format, args...) + "\n") }

func (t *tester) Error(args ...any) {
	t.Log(args...)
	t.fail()
}

func (t *tester) Errorf(format string, args ...any) {
	t.Logf(format, args...)
	t.fail()
}

func (t *tester) Fatal(args ...any) {
	t.Log(args...)
	t.FailNow()
}

func (t *tester) Fatalf(format string, args ...any) {
	t.Logf(format, args...)
	t.FailNow()
}

func (t *tester) fail() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = true
}

func (t *tester) log(s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, s)
}

// try runs test with a new T, and returns that T and whether test returned.
func try(test func(t *tester)) (t *tester, returned bool) {
	t = &tester{name: "TestTried"}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(t)
		returned = true
	}()
	<-done
	return t, returned
}

// failing is try for a test that must fail. It returns what the test printed.
func failing(t *testing.T, test func(t *tester)) string {
	t.Helper()
	tried, returned := try(test)
	text := strings.Join(tried.text, "")
	if !tried.failed || returned {
		t.Fatalf("the test passed, or went on after its failure:\n%s", text)
	}
	return text
}

// contains fails t unless text has all of want.
func contains(t *testing.T, text string, want ...string) {
	t.Helper()
	i := slices.IndexFunc(want, func(w string) bool { return !strings.Contains(text, w) })
	if i >= 0 {
		t.Fatalf("no %q in:\n%s", want[i], text)
	}
}
