// Package driver is Rondo's only interface to the outside world: the clock,
// events of file descriptors, sleep and wake-up. The real driver is in package
// internal/poll, the simulated one in package sim. A simulated world has a say in more
// than that, such as which task runs next: what a loop asks of it is a Simulation, and
// what a loop does for it stands in simulated.go of the root package.
//
// All methods are called on the loop's goroutine, one at a time, except Wake,
// Simulation.Within and Host.Run, which any goroutine may call at any time.
package driver

import (
	"context"
	"math"
	"time"
)

// Forever is the instant that never comes: Poll(Forever) sleeps until there is
// an event.
const Forever int64 = math.MaxInt64

// Busy is an instant that has passed: Poll(Busy) does not sleep.
const Busy int64 = -1

// A Driver is what a loop knows of the world. Instants are nanoseconds on the
// driver's own clock, which starts anywhere and never goes back.
type Driver interface {
	// Now reads the clock. If Simulation returns nil any goroutine may call it: the loop's
	// watchdog does.
	Now() int64

	// Time returns the wall-clock time of an instant, and Instant the instant
	// of a wall-clock time.
	Time(instant int64) time.Time
	Instant(t time.Time) int64

	// Epoch returns what the system's monotonic clock shows at instant 0, or 0 if
	// the driver's clock is another one. Programs that look at this one from
	// outside have only the system's clock.
	Epoch() int64

	// Poll delivers pending events: it calls Ready of each Sink whose
	// descriptor has become ready. If there are none it sleeps until one comes,
	// until Wake is called, or until the given instant. If that instant has
	// passed, Poll looks without sleeping. A Wake that came while nobody slept
	// makes the next Poll return at once. Poll may return early and without any
	// event.
	Poll(until int64) error

	// Wake ends a Poll that sleeps, or the next one. Any goroutine may call it,
	// also after Close.
	Wake()

	// Poller returns what watches file descriptors, or nil if the driver has no
	// descriptors.
	Poller() Poller

	// Simulation returns what a simulated world decides, or nil if the world is
	// real. It returns the same each time.
	Simulation() Simulation

	// Close releases the driver's resources. Poll must not be called after it.
	Close() error
}

// Events says what has become possible on a descriptor.
type Events uint8

// The two directions that can be asked for, and two more facts. HangUp says
// that the peer has ended its sending side, or that the descriptor has an
// error: from here on a read will not block. Urgent says that there is urgent
// data in the stream, so a read may end before it although more data has come.
// Urgent alone does not promise that a read returns anything.
const (
	Readable Events = 1 << iota
	Writable
	HangUp
	Urgent
)

// Ready of a Sink is called when its descriptor becomes ready. It runs on the
// loop, inside Poll, and must not wait.
type Sink interface {
	Ready(ev Events)
}

// A Poller watches file descriptors.
type Poller interface {
	// Arm asks for events of fd: Ready of s is called in a later Poll when want
	// becomes possible, or if it already is. Reports are edges: a caller calls
	// Arm after an operation returned EAGAIN; after a report it reads or writes
	// until EAGAIN and calls Arm again. Arming what is already armed costs
	// nothing. Each direction has one sink, the last one given.
	//
	// The error syscall.EPERM says that the descriptor is of a kind that never
	// blocks, such as a regular file.
	Arm(fd uintptr, want Events, s Sink) error

	// Disarm ends the reports of the given directions. It must be called for
	// all of them before fd is closed. Disarming what is not armed does
	// nothing.
	Disarm(fd uintptr, which Events)

	// Forget ends all reports of fd, as Disarm does. The caller closes fd right
	// after it and knows of no duplicate, so that the system may end its part
	// by itself. If there is a duplicate after all, as in a process that is
	// just being started, no sink gets the events of it.
	Forget(fd uintptr)
}

type key struct{}

// With returns a ctx; Run with that ctx uses the driver that open returns.
func With(ctx context.Context, open func() (Driver, error)) context.Context {
	return context.WithValue(ctx, key{}, open)
}

// From returns the function given to With, or nil.
func From(ctx context.Context) func() (Driver, error) {
	open, _ := ctx.Value(key{}).(func() (Driver, error))
	return open
}
