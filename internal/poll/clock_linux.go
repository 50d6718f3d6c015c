package poll

import (
	"time"

	"golang.org/x/sys/unix"
)

// Epoch gives the system's CLOCK_MONOTONIC at the instant 0 of this clock: the
// clock of package time is that one, less a number that it keeps to itself.
func (c *clock) Epoch() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0
	}
	return ts.Nano() - origin - int64(time.Since(c.start))
}
