// Package leak is for tests: it checks that they leave no goroutine and no file
// descriptor behind.
package leak

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"testing"
	"time"
)

// Main is what a TestMain does: it runs the tests, and fails, with the stacks of
// all goroutines, if there are more goroutines or descriptors after them than
// before. It does not return.
func Main(m *testing.M) { os.Exit(Run(m)) }

// Run is Main for a TestMain that cleans up after the tests: it returns the status
// with which the program must exit.
func Run(m *testing.M) int {
	// The runtime's poller has descriptors too. The first pipe opens them.
	r, w, err := os.Pipe()
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	r.Close()
	w.Close()

	goroutines, fds := runtime.NumGoroutine(), Descriptors()
	if runtime.GOOS == "js" {
		goroutines++ // the runtime keeps one from the first event on that it waits for
	}
	code := m.Run()
	// A goroutine that has done its work may not have ended yet. On a busy
	// machine that can take a while.
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if runtime.NumGoroutine() <= goroutines && Descriptors() <= fds {
			break
		}
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		stacks := make([]byte, 1<<20)
		fmt.Fprintf(os.Stderr, "%d goroutines before the tests, %d after\n%s\n", goroutines, n, stacks[:runtime.Stack(stacks, true)])
		code = 1
	}
	if n := Descriptors(); n > fds {
		fmt.Fprintf(os.Stderr, "%d descriptors before the tests, %d after\n", fds, n)
		code = 1
	}
	return code
}

// The C library reads this file in a thread that it is starting, at any time:
// https://go.dev/issue/25628.
const processors = "/sys/devices/system/cpu/online"

// Descriptors returns the number of open file descriptors of the process, or 0 on a
// system without /proc. It leaves out its own, and the one that the C library has open for
// a moment.
func Descriptors() int {
	if runtime.GOOS == "windows" {
		return 0 // wine has a /proc, with descriptors of its own
	}
	const dir = "/proc/self/fd/"
	names, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	n := 0
	for _, name := range names {
		to, err := os.Readlink(dir + name.Name())
		if closed := errors.Is(err, fs.ErrNotExist); !closed && to != processors {
			n++
		}
	}
	return n
}
