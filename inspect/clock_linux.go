package inspect

import "golang.org/x/sys/unix"

// monotonic reads the clock from which the loops of all processes count.
func monotonic() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0
	}
	return ts.Nano()
}
