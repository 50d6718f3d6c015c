package guest

// The driver of a guest: that of the machine, whose sleep is made to be the time between two
// Steps.
//
// The law: nothing of the loop runs but inside Step. A sleep is a goroutine in the machine's
// Poll. What that reports is kept, and the loop gets it in the next Step. While a sleep lasts
// the loop is parked, so the two never use the driver at the same time.

import (
	"sync/atomic"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
)

// A world is the driver of one guest.
type world struct {
	driver.Driver // the machine's
	loop          *Loop
	poller        *poller // nil if the machine's driver has none
	woken         atomic.Bool
}

// newWorld opens the machine's driver for l.
func newWorld(l *Loop, open func() (driver.Driver, error)) (driver.Driver, error) {
	machine, err := open()
	if err != nil {
		return nil, err
	}
	w := &world{Driver: machine, loop: l}
	if p := machine.Poller(); p != nil {
		w.poller = &poller{Poller: p}
	}
	return w, nil
}

// Poll returns to the host where the machine's Poll would sleep, or if the budget is used up.
func (w *world) Poll(until int64) error {
	l, before := w.loop, w.poller.reports()
	if err := w.Driver.Poll(driver.Busy); err != nil {
		return err
	}
	// That Poll may have used up a Wake, so the flag is read after it.
	if until < 0 || w.woken.Swap(false) || w.poller.reports() > before || until <= w.Now() {
		if l.budget >= 0 && time.Since(l.began) >= l.budget {
			l.yield(Ready)
		}
		return nil
	}
	return w.rest(until)
}

// rest is the sleep of a guest; package inspect knows it by this name.
func (w *world) rest(until int64) error {
	l, s := w.loop, &sleep{machine: w.Driver, until: until, done: make(chan struct{})}
	l.sleep = s
	w.poller.keep(true)
	l.yield(Sleeping)
	l.sleep = nil
	w.poller.keep(false)
	return s.err
}

// Wake ends a sleep, or the next one.
func (w *world) Wake() {
	w.woken.Store(true)
	w.Driver.Wake()
}

// Poller returns what watches the descriptors.
func (w *world) Poller() driver.Poller {
	if w.poller == nil {
		return nil
	}
	return w.poller
}

// A sleep is a Poll of the machine's driver between two Steps.
type sleep struct {
	machine driver.Driver
	until   int64
	err     error
	done    chan struct{} // closed when the Poll has returned
}

// run sleeps, and wakes the host.
func (s *sleep) run(wake func()) {
	s.err = s.machine.Poll(s.until)
	close(s.done)
	wake()
}

// over reports whether the Poll has returned.
func (s *sleep) over() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// A poller is the machine's, with sinks that keep what is reported during a sleep.
type poller struct {
	driver.Poller
	keeps bool
	kept  []report
	n     int // reports so far
}

// A report is a call of Ready that was kept.
type report struct {
	to     driver.Sink
	events driver.Events
}

// reports returns how many reports there have been.
func (p *poller) reports() int {
	if p == nil {
		return 0
	}
	return p.n
}

// keep begins to keep reports, or ends that and makes those that were kept.
func (p *poller) keep(keeps bool) {
	if p == nil {
		return
	}
	p.keeps = keeps
	for i := 0; !keeps && i < len(p.kept); i++ {
		p.kept[i].to.Ready(p.kept[i].events)
	}
	if !keeps {
		clear(p.kept)
		p.kept = p.kept[:0]
	}
}

// Arm asks the machine's poller for events of fd.
func (p *poller) Arm(fd uintptr, want driver.Events, s driver.Sink) error {
	return p.Poller.Arm(fd, want, sink{of: p, to: s})
}

// A sink passes on what is reported, or keeps it.
type sink struct {
	of *poller
	to driver.Sink
}

// Ready passes a report on, or keeps it.
func (s sink) Ready(events driver.Events) {
	s.of.n++
	if s.of.keeps {
		s.of.kept = append(s.of.kept, report{s.to, events})
		return
	}
	s.to.Ready(events)
}
