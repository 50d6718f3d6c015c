package poll

import (
	"time"

	"golang.org/x/sys/unix"
)

// Epoch returns the system's CLOCK_MONOTONIC at instant 0 of this clock. The
// clock of package time is CLOCK_MONOTONIC minus an offset that package time
// does not export.
func (c *clock) Epoch() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0
	}
	return ts.Nano() - origin - int64(time.Since(c.start))
}
