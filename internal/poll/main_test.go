package poll_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/poll"
)

// TestMain holds the law that a closed driver leaves no goroutine and no file
// descriptor behind.
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
		if runtime.NumGoroutine() <= goroutines {
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

// open gives a driver that the test's end closes.
func open(t testing.TB) driver.Driver {
	t.Helper()
	d, err := poll.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// sleep polls until there is news or the driver is woken.
func sleep(t testing.TB, d driver.Driver) {
	t.Helper()
	if err := d.Poll(driver.Forever); err != nil {
		t.Fatal(err)
	}
}

// glance polls without sleeping.
func glance(t testing.TB, d driver.Driver) {
	t.Helper()
	if err := d.Poll(0); err != nil {
		t.Fatal(err)
	}
}

// watchdog ends a test that hangs, which is what a lost wake-up looks like,
// with every goroutine's stack.
func watchdog(t testing.TB) {
	timer := time.AfterFunc(2*time.Minute, func() {
		panic("a Poll has slept through its news in " + t.Name())
	})
	t.Cleanup(func() { timer.Stop() })
}

// A pause takes a short time, another each time, to move two goroutines
// against each other through all their interleavings.
type pause struct {
	seed uint32
	spun uint32
}

func (p *pause) spin() {
	p.seed = p.seed*1664525 + 1013904223
	for range p.seed >> 20 {
		p.spun++
	}
	if p.seed>>20%16 == 0 {
		runtime.Gosched()
	}
}
