package poll

import (
	"time"

	"github.com/rondo-go/rondo/internal/driver"
)

// The clock that all backends share. It is the monotonic clock of package time,
// counted in nanoseconds from an origin that is nobody else's.

// origin is what the clock shows when the driver is opened. It is far from zero
// so that an instant taken for a duration, or for a Unix time, shows at once,
// and above zero so that the zero instant has always passed.
const origin = int64(1000 * time.Hour)

// A clock tells instants. It never goes back, and steps of the wall clock do
// not touch it.
type clock struct {
	start time.Time // the moment of origin, with its monotonic reading
}

func newClock() clock { return clock{start: time.Now()} }

// Now reads the clock.
func (c *clock) Now() int64 { return origin + int64(time.Since(c.start)) }

// Time gives the wall-clock time of an instant. It carries a monotonic reading,
// so that Instant gives the same instant back.
func (c *clock) Time(instant int64) time.Time {
	return c.start.Add(time.Duration(instant - origin))
}

// Instant gives the instant of a time. A time that has a monotonic reading maps
// exactly; one without, as a date that was parsed, maps by its distance from
// the wall clock at this moment. A time too far ahead to be counted is
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

// Virtual tells that this clock is the world's own.
func (c *clock) Virtual() bool { return false }

// sum adds a duration that may be the greatest there is to one that is not
// negative.
func sum(a, b time.Duration) time.Duration {
	if b > 0 && a > time.Duration(driver.Forever)-b {
		return time.Duration(driver.Forever)
	}
	return a + b
}
