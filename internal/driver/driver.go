// Package driver is Rondo's only interface to the outside world: the clock,
// events of file descriptors, sleep, wake-up, and the choice of what runs next.
// The real driver is in package internal/poll, the simulated one in package
// sim. The loop cannot tell them apart.
//
// All methods are called on the loop's goroutine, one at a time, except Wake,
// which any goroutine may call at any time.
package driver

import (
	"context"
	"math"
	"time"
)

// Line is the number, in place of that of a task, of a callback that Post or CallSoon has
// queued on a simulated loop. Those run in the order of the calls, whichever place in the
// queue comes first.
const Line = math.MaxUint64

// Forever is the instant that never comes: Poll(Forever) sleeps until there is
// an event.
const Forever int64 = math.MaxInt64

// Outside is Forever for a simulated loop for which goroutines work: one of them
// will call Wake. Until then simulated time must not pass.
const Outside int64 = math.MaxInt64 - 1

// Busy and Posted are instants that have passed. With Posted, the loop has nothing to do
// but what was handed in by goroutines or by other loops.
const (
	Busy   int64 = -1
	Posted int64 = -2
)

// A Driver is what a loop knows of the world. Instants are nanoseconds on the
// driver's own clock, which starts anywhere and never goes back.
type Driver interface {
	// Now reads the clock.
	Now() int64

	// Time returns the wall-clock time of an instant, and Instant the instant
	// of a wall-clock time.
	Time(instant int64) time.Time
	Instant(t time.Time) int64

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

	// Order returns the function that chooses which of n ready things runs next
	// (0 <= choice < n), or nil if they run in the order in which they became
	// ready. who returns the number of the task at a position. For a
	// callback it is Line or 0. A driver that is Late may also choose ^i: then what
	// is at position i does not run now.
	Order() func(n int, who func(i int) uint64) int

	// Virtual reports whether time is simulated. Then nothing real can wake the
	// loop except goroutines that work for it.
	Virtual() bool

	// Alone reports whether no goroutine and no other loop can wake this one
	// through what it has handed out, such as a Future.
	Alone() bool

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

// An Epoch is a Driver whose clock is the system's clock with another origin.
// Epoch returns what the system's monotonic clock shows at instant 0. Programs
// that look at this one from outside have only that clock.
type Epoch interface {
	Epoch() int64
}

// A Poller is a Driver that can watch file descriptors. A driver without
// descriptors does not implement it.
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

// A Late driver may keep a ready task from running. Until is called after each such
// choice. It returns until when: an instant that has passed means the next turn.
//
// Punctual reports whether nothing is late any more. Then what was put off until a time
// runs at once.
type Late interface {
	Until() int64
	Punctual() bool
}

// A Refuser is a Driver that counts waits which fail at once, because their ctx is
// cancelled. Refused may panic.
type Refuser interface {
	Refused()
}

// Awaits reports whether the loop is in no deadlock although nothing known can wake it: a
// task waits until somebody ends the loop, as the host of a simulated cluster is crashed.
func Awaits(d Driver) bool {
	a, ok := d.(interface{ Awaits() bool })
	return ok && a.Awaits()
}

// Settles reports whether the goroutines around the loop are simulated together with it,
// so that simulated time may pass while they work for it.
func Settles(d Driver) bool {
	s, ok := d.(interface{ Settles() bool })
	return ok && s.Settles()
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
