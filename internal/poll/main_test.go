package poll_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/internal/poll"
)

// TestMain holds the law that a closed driver leaves no goroutine and no file
// descriptor behind.
func TestMain(m *testing.M) { leak.Main(m) }

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
