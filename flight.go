package rondo

// The flight recorder of a loop: a record of what its tasks did last, which is always on. package
// inspect reads it from outside; nothing in the program does.
//
// The law: a loop without a record notes nothing, and one that has it looks at no clock for it. A
// loop gets its record when it has lived for a while, so that a short Run does not pay for it; with
// Runner.NoFlightRecorder it gets none, nor in another world than the real one.

import (
	"time"

	"github.com/rondo-go/rondo/internal/flight"
)

// A loop that has switched so often, or lived so long, gets its record.
const (
	recordAfterSwitches = 1000
	recordAfter         = int64(100 * time.Millisecond)
)

// recordAway is for how long a loop must have given its processor away to be noted as asleep.
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
