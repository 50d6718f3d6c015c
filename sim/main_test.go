package sim_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo/internal/tried"
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
type tester = tried.T

// try runs test with a new T, and returns that T and whether test returned.
func try(test func(t *tester)) (t *tester, returned bool) { return tried.Run(test) }

// failing is try for a test that must fail. It returns what the test printed.
func failing(t *testing.T, test func(t *tester)) string {
	t.Helper()
	tried, returned := try(test)
	if !tried.Failed() || returned {
		t.Fatalf("the test passed, or went on after its failure:\n%s", tried.Text())
	}
	return tried.Text()
}

// contains fails t unless text has all of want.
func contains(t *testing.T, text string, want ...string) {
	t.Helper()
	i := slices.IndexFunc(want, func(w string) bool { return !strings.Contains(text, w) })
	if i >= 0 {
		t.Fatalf("no %q in:\n%s", want[i], text)
	}
}
