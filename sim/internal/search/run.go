package search

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/moment"
	"github.com/rondo-go/rondo/sim/internal/picture"
	"github.com/rondo-go/rondo/sim/internal/record"
	"github.com/rondo-go/rondo/sim/internal/replay"
)

// A Run is one run of a body: how it is set up, and what it leaves for the report.
type Run struct {
	Choices  *choice.Choices
	Label    string // for reports: "seed 7"
	MaxSteps int
	Trace    *record.Trace    // nil: none is kept
	Account  *picture.Account // of the choices, for a report; nil: none is kept
	Probes   *probes
	Clock    func() int64  // virtual time; set by the function that runs the body
	Shown    atomic.Int64  // the virtual time since the run began, at the last jump of the clock
	Steps    atomic.Uint64 // other goroutines read it to see that the run makes progress
	Violated string        // the Always that was false
}

// elapsed is the virtual time since the run began.
func (a *Run) elapsed() time.Duration {
	if a.Clock == nil {
		return 0
	}
	return time.Duration(a.Clock() - moment.Origin)
}

// Tell makes the run keep an account of its choices, and the events for a picture.
func (a *Run) Tell() {
	a.Choices.Records = true
	a.Trace = &record.Trace{Keep: true, Draws: true}
	a.Account = picture.New(a.elapsed, a.Trace)
	a.Choices.Told = a.Account.Note
}

// ended returns the virtual time at which a run ended so.
func (a *Run) ended(o Outcome) time.Duration {
	if o.Running {
		return time.Duration(a.Shown.Load())
	}
	return a.elapsed()
}

// picture draws a run that has ended.
func (a *Run) picture(t testing.TB, what string) (picture.Files, error) {
	c := a.Choices
	return a.Account.Files(fmt.Sprintf("%s, seed %d", t.Name(), c.Seed), what, replay.Command(t, replay.FormatList(c.Seed, c.Made)))
}

// An Outcome is how a run ended. The zero outcome is a run without a fault.
type Outcome struct {
	Err    error
	Fault  any // what it panicked with
	Exited bool
	Stuck  string

	// running says that the loop still runs, on a goroutine that cannot be stopped, so
	// that nothing of it may be read.
	Running bool
}

// Failure says what is wrong, or "". Whether a Goexit is wrong depends on the test,
// so it is not in here.
func (o *Outcome) Failure() string {
	switch {
	case o.Stuck != "":
		return o.Stuck
	case o.Fault != nil:
		return fmt.Sprint(o.Fault)
	case o.Err != nil:
		return o.Err.Error()
	}
	return ""
}

// deadlocked reports whether the loop was in deadlock.
func (o *Outcome) deadlocked() bool { return errtree.Is(o.Err, rondo.ErrDeadlock) }

// Bad reports whether something went wrong.
func (o *Outcome) Bad() bool { return o.Err != nil || o.Fault != nil || o.Stuck != "" }
