package fd_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// TestMain holds the law that nothing is left behind: no goroutine and no file
// descriptor.
func TestMain(m *testing.M) {
	// The runtime's own poller has descriptors too, which the first pipe makes
	// it open once.
	r, w, err := os.Pipe()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	r.Close()
	w.Close()

	goroutines, fds := runtime.NumGoroutine(), descriptors()
	code := m.Run()
	// A goroutine that has done its work may still be about to end.
	for range 100_000 {
		if runtime.NumGoroutine() <= goroutines && descriptors() <= fds {
			break
		}
		runtime.Gosched()
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		fmt.Fprintf(os.Stderr, "%d goroutines before the tests, %d after\n", goroutines, n)
		code = 1
	}
	if n := descriptors(); n > fds {
		fmt.Fprintf(os.Stderr, "%d descriptors before the tests, %d after\n", fds, n)
		code = 1
	}
	os.Exit(code)
}

// descriptors counts what the process has open, or gives 0 where /proc does not
// tell.
func descriptors() int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(names)
}

// run runs main in a loop, as a test; one that hangs panics.
func run(t testing.TB, main func(ctx context.Context) error) {
	t.Helper()
	watchdog := time.AfterFunc(2*time.Minute, func() { panic(t.Name() + " hangs") })
	defer watchdog.Stop()
	if err := rondo.Run(context.Background(), main); err != nil {
		t.Error(err)
	}
}
