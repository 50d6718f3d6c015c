package growth_test

import (
	"time"

	"golang.org/x/sys/unix"
)

// spent returns the processor time that the process has used. What other processes take of a
// busy machine is not in it.
func spent() time.Duration {
	var ts unix.Timespec
	must(unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts))
	return time.Duration(ts.Nano())
}
