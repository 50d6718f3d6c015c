package sim

// Show names state of the program under test, so that a picture draws how it changed and a report
// lists what it was at the failure.
//
// The law: nothing is formatted unless a failure is being drawn, and drawing changes nothing of
// what the run does.

import (
	"context"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/sim/internal/record"
)

// Show says that the state with this name now has this value on the host of ctx, or on the loop
// of a Test: a term, a role, the end of a log. Call it where the state changes. When a failure
// is shrunk, its picture draws each change and its report lists the values at the failure, in
// the words of the value's String method, if it has one. A value that is the same as before is
// not drawn again.
//
// The program under test may call it: outside a simulation, and in each run that is not drawn,
// Show is one atomic load and formats nothing. It never suspends and keeps nothing of value.
func Show[T any](ctx context.Context, name string, value T) {
	if driver.Compared.Load() != 0 {
		show(ctx, name, value)
	}
}

// show is Show where some simulation is drawn, or compared with another run.
//
//go:noinline
func show[T any](ctx context.Context, name string, value T) {
	if a := attemptOf(ctx); a != nil && a.Trace.Shows() {
		a.Trace.Show(record.Event{Now: a.Clock(), Who: taskNumber(ctx), What: name, Kind: record.Showed}, value)
	}
}
