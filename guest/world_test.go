package guest

import (
	"slices"
	"testing"

	"github.com/rondo-go/rondo/internal/driver"
)

// A machine is a poller that remembers who is to be told.
type machine struct {
	driver.Poller
	sinks map[uintptr]driver.Sink
}

func (m *machine) Arm(fd uintptr, _ driver.Events, s driver.Sink) error {
	m.sinks[fd] = s
	return nil
}

// A heard records what is reported.
type heard []driver.Events

func (h *heard) Ready(events driver.Events) { *h = append(*h, events) }

// TestReportsAreKept: what the machine reports during a sleep comes after it, once and in order,
// and what it reports in a Step comes at once.
func TestReportsAreKept(t *testing.T) {
	m := &machine{sinks: make(map[uintptr]driver.Sink)}
	p := &poller{Poller: m}
	var h heard
	if err := p.Arm(3, driver.Readable, &h); err != nil {
		t.Fatal(err)
	}
	want := func(events ...driver.Events) {
		t.Helper()
		if !slices.Equal(h, events) {
			t.Errorf("reported: %v, want %v", h, events)
		}
	}
	m.sinks[3].Ready(driver.Readable)
	want(driver.Readable)
	p.keep(true)
	m.sinks[3].Ready(driver.Writable)
	m.sinks[3].Ready(driver.HangUp)
	want(driver.Readable)
	p.keep(false)
	want(driver.Readable, driver.Writable, driver.HangUp)
	p.keep(true)
	p.keep(false)
	want(driver.Readable, driver.Writable, driver.HangUp)
}
