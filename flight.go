package rondo

// The flight recorder of a loop: a record of the last steps of its tasks, which is always on.
// Package inspect reads it from outside; nothing in the program does.
//
// The law: a loop without a record notes nothing, and the record costs no reading of the clock.
// A loop gets its record when it has lived for a while, so that a short Run does not pay for
// it. With Runner.NoFlightRecorder, and in a simulation, it gets none.

import (
	"time"

	"github.com/rondo-go/rondo/internal/flight"
)

// A loop gets its record after this number of switches, or after this time.
const (
	recordAfterSwitches = 1000
	recordAfter         = int64(100 * time.Millisecond)
)

// recordAway is the shortest time without the processor that the record notes as sleep, in ns.
const recordAway = int64(10 * time.Microsecond)

// A recorder keeps the flight record of a loop.
type recorder struct {
	record *flight.Record // nil if there is none yet
	off    bool
	born   int64 // the loop's clock when Run began
}

// mark notes the time, how the run queue stands, and which task ran last, or flight.Asleep.
func (l *Loop) mark(at int64, task uint64) {
	r := &l.flight
	if r.record == nil {
		if r.off || l.stats.Switches < recordAfterSwitches && at-r.born < recordAfter {
			return
		}
		r.record = flight.New()
	}
	r.record.Mark(at, l.steps, uint64(l.queue.Len()), task)
}
