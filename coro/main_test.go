package coro

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"
)

// TestMain fails if a goroutine or a coroutine outlives the tests.
func TestMain(m *testing.M) {
	flag.Parse()
	before := runtime.NumGoroutine()
	if runtime.GOOS == "js" {
		before++ // the runtime starts one at the first event of node that it has to wait for, and keeps it
	}
	code := m.Run()
	// Fuzzing has goroutines of its own that stay.
	fuzzing := flag.Lookup("test.fuzz").Value.String() != "" || flag.Lookup("test.fuzzworker").Value.String() == "true"
	if code == 0 && !fuzzing {
		if n, ok := Settle(before); !ok {
			fmt.Fprintf(os.Stderr, "%d goroutines before the tests, %d after:\n", before, n)
			_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
			code = 1
		}
		if n := Registered(); n != 0 {
			fmt.Fprintf(os.Stderr, "%d coroutines are still registered\n", n)
			code = 1
		}
	}
	os.Exit(code)
}

// Settle waits until there are at most n goroutines, for goroutines that have
// been told to end need a moment to do so. It gives up in the end.
func Settle(n int) (now int, ok bool) {
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); runtime.Gosched() {
		if now = runtime.NumGoroutine(); now <= n {
			return now, true
		}
	}
	return now, false
}

// Registered counts the coroutines that have a goroutine.
func Registered() (n int) {
	for i := range goroutines {
		goroutines[i].mu.Lock()
		n += len(goroutines[i].list)
		goroutines[i].mu.Unlock()
	}
	return n
}
