//go:build linux && !rondo_portable

package poll_test

import (
	"errors"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/driver"
)

// What epoll cannot take, because too many watch the open file already.

// crowd makes 100 other drivers watch fd, as many as Linux allows.
func crowd(t *testing.T, fd int) {
	t.Helper()
	for range 100 {
		arm(t, openWatcher(t), fd, driver.Readable, new(sink))
	}
}

// TestCrowd: the drivers beyond the limit get the same reports as the others.
func TestCrowd(t *testing.T) {
	watchdog(t)
	a, b := pair(t)
	crowd(t, a)
	for range 30 {
		w := openWatcher(t)
		s := new(sink)
		arm(t, w, a, driver.Readable, s)
		silent(t, w, s)
		for range 3 {
			write(t, b, "rondo")
			expect(t, w, s, driver.Readable)
			if told := s.take(); told != driver.Readable {
				t.Errorf("Ready got %b, want Readable alone", told)
			}
			drain(t, a)
			arm(t, w, a, driver.Readable, s)
			// A relay may report the same once more, so w need not be silent now.
		}
		// A loop that never sleeps gets them, too.
		s.take()
		write(t, b, "rondo")
		for s.told == 0 {
			glance(t, w)
			runtime.Gosched()
		}
		drain(t, a)
	}
}

// TestCrowdChanges: sinks and directions change in any order.
func TestCrowdChanges(t *testing.T) {
	watchdog(t)
	a, b := pair(t)
	crowd(t, a)
	w := openWatcher(t)
	write(t, b, "early")
	first, second, writer := new(sink), new(sink), new(sink)
	arm(t, w, a, driver.Readable, first)
	expect(t, w, first, driver.Readable) // it was there before Arm
	first.take()
	arm(t, w, a, driver.Readable, second)
	expect(t, w, second, driver.Readable) // what the first sink was told
	arm(t, w, a, driver.Writable, writer)
	expect(t, w, writer, driver.Writable)
	second.take()
	drain(t, a)
	w.Disarm(uintptr(a), driver.Writable)
	writer.take()
	write(t, b, "more")
	expect(t, w, second, driver.Readable)
	if first.calls+writer.calls != 0 {
		t.Error("Ready of a sink that was replaced or disarmed was called")
	}
	unix.Shutdown(b, unix.SHUT_WR)
	expect(t, w, second, driver.HangUp)
	w.Disarm(uintptr(a), driver.Readable)
	second.take()
	write(t, a, "x")
	silent(t, w, second)
	arm(t, w, a, driver.Readable, first)
	expect(t, w, first, driver.Readable|driver.HangUp)
}

// TestCrowdEnds: the number is used again right after Disarm, and a relay that
// is disarmed while it reports reports nothing to the next owner.
func TestCrowdEnds(t *testing.T) {
	watchdog(t)
	a, b := pair(t)
	crowd(t, a)
	w := openWatcher(t)
	for range 200 {
		double, err := unix.FcntlInt(uintptr(a), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		old, next := new(sink), new(sink)
		arm(t, w, double, driver.Readable, old)
		write(t, b, "x")
		w.Disarm(uintptr(double), driver.Readable)
		c := pairOnce(t)
		if err := unix.Dup2(c[0], double); err != nil {
			t.Fatal(err)
		}
		arm(t, w, double, driver.Readable, next)
		silent(t, w, next)
		write(t, c[1], "x")
		expect(t, w, next, driver.Readable)
		w.Disarm(uintptr(double), driver.Readable)
		if old.calls != 0 {
			t.Error("Ready was called after Disarm")
		}
		for _, fd := range append(c[:], double) {
			unix.Close(fd)
		}
		drain(t, a)
	}
}

// pairOnce is pair for a caller that closes the two itself.
func pairOnce(t *testing.T) [2]int {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	return fds
}

// TestCrowdBlocking: a blocking descriptor is refused, and stays blocking.
func TestCrowdBlocking(t *testing.T) {
	a, _ := pair(t)
	if err := unix.SetNonblock(a, false); err != nil {
		t.Fatal(err)
	}
	crowd(t, a)
	w := openWatcher(t)
	if err := w.Arm(uintptr(a), driver.Readable, new(sink)); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("Arm of a blocking descriptor: %v, want EINVAL", err)
	}
	if err := w.Arm(uintptr(a), driver.Writable, new(sink)); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("Arm after that: %v, want EINVAL", err)
	}
	if flags, err := unix.FcntlInt(uintptr(a), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK != 0 {
		t.Errorf("its mode has changed: %#x, %v", flags, err)
	}
}
