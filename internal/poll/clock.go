package poll

import (
	"time"

	"github.com/rondo-go/rondo/internal/driver"
)

// The clock that all backends share. It is the monotonic clock of package time,
// counted in nanoseconds from an origin of its own.

// origin is the instant at which the driver is opened. It is far from zero so
// that an instant mistaken for a duration, or for a Unix time, shows at once.
// It is above zero so that the zero instant has always passed.
const origin = int64(1000 * time.Hour)

// A clock counts instants. It never goes back, and steps of the wall clock do
// not affect it.
type clock struct {
	start time.Time // the moment of origin, with its monotonic reading
}

func newClock() clock { return clock{start: time.Now()} }

// Now reads the clock.
func (c *clock) Now() int64 { return origin + int64(time.Since(c.start)) }

// Time returns the wall-clock time of an instant. It carries a monotonic
// reading, so Instant returns the same instant for it.
func (c *clock) Time(instant int64) time.Time {
	return c.start.Add(time.Duration(instant - origin))
}

// Instant returns the instant of a time. A time with a monotonic reading maps
// exactly. One without, such as a parsed date, maps by its distance from the
// wall clock at this moment. A time too far ahead to be counted is
// driver.Forever.
func (c *clock) Instant(t time.Time) int64 {
	var since time.Duration
	if t != t.Round(0) { // Round strips the monotonic reading
		since = t.Sub(c.start)
	} else {
		now := time.Now()
		since = sum(now.Sub(c.start), t.Sub(now))
	}
	return int64(sum(since, time.Duration(origin)))
}

// Simulation returns nil: the world is real.
func (c *clock) Simulation() driver.Simulation { return nil }

// sum adds a non-negative duration and one that may be the greatest there is.
func sum(a, b time.Duration) time.Duration {
	if b > 0 && a > time.Duration(driver.Forever)-b {
		return time.Duration(driver.Forever)
	}
	return a + b
}
