package poll_test

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestEpoch: an instant and the epoch add up to the system's clock.
func TestEpoch(t *testing.T) {
	d := open(t)
	system := func() int64 {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
			t.Fatal(err)
		}
		return ts.Nano()
	}
	first, now := system(), d.Now()
	epoch := d.Epoch()
	later, last := d.Now(), system()
	if epoch < first-later || epoch > last-now {
		t.Errorf("the epoch is %d, want %d to %d", epoch, first-later, last-now)
	}
}
