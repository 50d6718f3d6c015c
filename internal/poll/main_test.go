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

// open opens a driver that is closed when the test ends.
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

// sleep polls until there is an event or a Wake.
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

// watchdog ends a test that hangs, as it does after a lost wake-up, with the
// stacks of all goroutines.
func watchdog(t testing.TB) {
	timer := time.AfterFunc(2*time.Minute, func() {
		panic("a Poll has slept although there was an event in " + t.Name())
	})
	t.Cleanup(func() { timer.Stop() })
}

// A pause takes a short time, a different one each time, so that two goroutines
// meet in all their interleavings.
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
