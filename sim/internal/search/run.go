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
	Stopped  bool          // by its first failure: what it does from then on is a consequence
	Seen     uint64        // what the hosts of an exploration have seen: two runs with the same are one order
	took     time.Duration // in real time

	test      testing.TB // nil: it had failed before
	keepGoing bool
	payload   func(data []byte) string
	failedAt  time.Duration
	place     string // who failed the test, or ""
}

// Fails is called when a task or a callback has run. It reports whether the run ends, because
// that has failed the test. task is its number, and who says who it was.
func (a *Run) Fails(task uint64, who func() string) bool {
	if a.test == nil || a.place != "" || !a.test.Failed() {
		return false
	}
	a.failedAt, a.place = a.elapsed(), who()
	a.Account.Fails(task)
	a.Stopped = !a.keepGoing
	return a.Stopped
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
	a.Trace = &record.Trace{Keep: true, Draws: true, Payload: a.payload}
	a.Account = picture.New(a.elapsed, a.Trace)
	a.Choices.Told, a.Choices.Says = a.Account.Note, a.Account.Say
}

// where says who has failed the test, for a report, or is "".
func (a *Run) where(o Outcome) string {
	if o.Running || a.place == "" {
		return ""
	}
	return ", in " + a.place
}

// ended returns the virtual time at which a run failed, or ended so.
func (a *Run) ended(o Outcome) time.Duration {
	switch {
	case o.Running:
		return time.Duration(a.Shown.Load())
	case a.place != "":
		return a.failedAt
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
	Kind   string // of Err, for a search that must not go from one mistake to another; "": any

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
