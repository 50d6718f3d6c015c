// Package driver is Rondo's one seam to the world: clock, news of file
// descriptors, sleep, wake-up, and the choice among things that could happen
// next. The real driver is package internal/poll's; package sim has the
// simulated one. The code above cannot tell which of them it runs on.
//
// All methods are called on the loop's goroutine, one at a time, except Wake,
// which any goroutine may call at any time.
package driver

import (
	"context"
	"math"
	"time"
)

// Forever is the instant that never comes: Poll with it sleeps until there is
// news.
const Forever int64 = math.MaxInt64

// A Driver is what a loop knows of the world. Instants are nanoseconds on the
// driver's own clock, which starts anywhere and never goes back.
type Driver interface {
	// Now reads the clock.
	Now() int64

	// Time gives the wall-clock time of an instant, and Instant the instant of
	// a wall-clock time.
	Time(instant int64) time.Time
	Instant(t time.Time) int64

	// Poll delivers the news there is: it calls Ready of each Sink whose
	// descriptor has become ready. If there is none it sleeps until some
	// comes, until Wake is called, or until the instant given. An instant
	// that has passed makes it look without sleeping. A Wake that came while
	// nobody slept makes the next Poll return at once. It may return early and
	// with no news at all.
	Poll(until int64) error

	// Wake ends a Poll that sleeps, or the next one. Any goroutine may call it,
	// also after Close.
	Wake()

	// Order gives the function that chooses which of n ready things runs next
	// (0 <= choice < n), or nil if they run in the order they became ready. who
	// gives the number of the task at a place, or 0 for a callback.
	Order() func(n int, who func(i int) uint64) int

	// Virtual tells whether time is simulated, so that nothing outside the
	// loop can ever wake it.
	Virtual() bool

	// Close releases what the driver holds. Poll must not be called after it.
	Close() error
}

// Events says what has become possible on a descriptor.
type Events uint8

// The two directions that can be asked for, and what may come with them. HangUp
// says that the peer has ended its sending side, or that the descriptor is in
// error: a read will not block from here on. Urgent says that there is urgent
// data in the stream, before which a read may end though there is more; alone it
// is no promise that a read gives anything.
const (
	Readable Events = 1 << iota
	Writable
	HangUp
	Urgent
)

// A Sink is told that its descriptor is ready. Ready runs on the loop, inside
// Poll; it must not wait.
type Sink interface {
	Ready(ev Events)
}

// An Epoch is a Driver whose clock is the system's with another origin. Epoch
// gives what the system's monotonic clock shows at instant 0, for those who look
// at the program from outside and have only that clock.
type Epoch interface {
	Epoch() int64
}

// A Poller is a Driver that can watch file descriptors. A driver without
// descriptors does not implement it.
type Poller interface {
	// Arm asks for news of fd: the next time want becomes possible, or if it is
	// already, s hears of it in a Poll that follows. Reports are edges: a
	// caller arms after an operation said EAGAIN, and after a report reads or
	// writes until EAGAIN, arming again then. Arming what is already armed
	// costs nothing. Each direction has one sink; the last given holds.
	//
	// An error that is syscall.EPERM says that the descriptor is of a kind that
	// never blocks (a regular file).
	Arm(fd uintptr, want Events, s Sink) error

	// Disarm ends the reports of the directions given. It must be called for
	// all of them before fd is closed. Disarming what is not armed is nothing.
	Disarm(fd uintptr, which Events)
}

type key struct{}

// With returns a ctx whose Run uses the driver that open makes.
func With(ctx context.Context, open func() (Driver, error)) context.Context {
	return context.WithValue(ctx, key{}, open)
}

// From returns the function given to With, or nil.
func From(ctx context.Context) func() (Driver, error) {
	open, _ := ctx.Value(key{}).(func() (Driver, error))
	return open
}
