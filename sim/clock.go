package sim

// The two clocks of a host, as of a machine: the one on the wall, which is set and may jump,
// and the monotonic one, by which its timers run.
//
// The law: a time that a host reads has both, as one of time.Now has. So the difference of two
// times of a host is what has passed by its timers, whatever was set in between, and a time
// that was parsed or came over the network is compared by the wall.

import (
	"math/bits"
	"time"
	"unsafe"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/sim/internal/moment"
)

// epoch is the earliest time that a simulated clock shows. It is long ago, so that
// a time that was taken from time.Now is easy to notice.
var epoch = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// A clock is how the two clocks of a host differ from the world's.
type clock struct {
	offset time.Duration // of the wall
	ppm    int           // how much faster it runs, in millionths
	setAt  int64         // the world's clock when it was set
	ahead  int64         // of the timers, when it was set
}

// set makes the clock another one, at an instant of the world.
func (c *clock) set(at int64, offset time.Duration, ppm int) {
	*c = clock{offset, ppm, at, c.local(at) - at}
}

// local and universal convert between the host's timers and the world's. A clock that
// runs at another rate does so since it was set.
func (c *clock) local(at int64) int64 {
	if c.ppm == 0 {
		return at + c.ahead
	}
	d := at - c.setAt
	return at + c.ahead + scaled(d, c.ppm)
}

// universal returns moment.Never for an instant that does not come before the world's clock ends.
func (c *clock) universal(at int64) int64 {
	at = moment.After(at, -time.Duration(c.ahead))
	if c.ppm == 0 || at <= c.setAt {
		return at
	}
	rate := uint64(1e6 + c.ppm)
	high, low := bits.Mul64(uint64(at-c.setAt), 1e6)
	if high >= rate {
		return moment.Never
	}
	d, _ := bits.Div64(high, low, rate)
	if d > uint64(moment.Never-c.setAt) {
		return moment.Never
	}
	for d += uint64(c.setAt); d < uint64(moment.Never) && c.local(int64(d))-c.ahead < at; {
		d++
	}
	return int64(d)
}

// scaled returns so many millionths of d.
func scaled(d int64, ppm int) int64 {
	return d/1e6*int64(ppm) + d%1e6*int64(ppm)/1e6
}

// instantOf returns the instant of t by its reading, if it is one of a host. A time of the
// machine's own clock is none.
func instantOf(t time.Time) (instant int64, ok bool) {
	if t == t.Round(0) { // Round strips the reading
		return 0, false
	}
	since := t.Sub(reference) // by the readings of both
	return moment.Origin + min(int64(since), driver.Forever-moment.Origin), since > -ownReadings/2
}

// A reading is the layout of time.Time if there is a monotonic reading: the seconds since 1885
// in 33 bits and the nanoseconds in 30. TestMonotonic holds it to package time.
type reading struct {
	wall uint64
	mono int64
	loc  *time.Location
}

// ownReadings is above every monotonic reading of package time, which counts from the start of
// the process, so that a time of the machine is known for what it is.
const ownReadings = 20000 * time.Hour

// year1885 is when the seconds of a reading begin.
var year1885 = time.Date(1885, time.January, 1, 0, 0, 0, 0, time.UTC).Unix()

// reference is the time of moment.Origin with its monotonic reading.
var reference = withMonotonic(epoch, moment.Origin)

// withMonotonic returns t with the monotonic reading of an instant. No exported function of
// package time makes a time whose two clocks differ from those of the machine. Like time.Now
// it returns t as it is before 1885 and after 2157.
func withMonotonic(t time.Time, instant int64) time.Time {
	sec := t.Unix() - year1885
	if sec < 0 || sec >= 1<<33 || instant > driver.Forever-int64(ownReadings) {
		return t
	}
	r := (*reading)(unsafe.Pointer(&t))
	r.wall = 1<<63 | uint64(sec)<<30 | uint64(t.Nanosecond())
	r.mono = instant + int64(ownReadings)
	return t
}
