//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package poll_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"weak"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/leak"
)

// Which descriptors can be watched, and what becomes of one that is closed,
// used again, or forgotten.

func TestRegularFile(t *testing.T) {
	w := openWatcher(t)
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, filepath.Dir(path)} {
		fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		s := new(sink)
		for range 2 {
			if err := w.Arm(uintptr(fd), driver.Readable, s); !errors.Is(err, syscall.EPERM) {
				t.Errorf("Arm of %s: %v, want EPERM", name, err)
			}
		}
		silent(t, w, s)
		w.Disarm(uintptr(fd), driver.Readable)
		unix.Close(fd)
	}
}

// A number that is no descriptor is refused, and uses no memory.
func TestBadDescriptor(t *testing.T) {
	w := openWatcher(t)
	for _, fd := range []uintptr{1 << 30, math.MaxInt32, 1 << 31, ^uintptr(0)} {
		if err := w.Arm(fd, driver.Readable, new(sink)); !errors.Is(err, syscall.EBADF) {
			t.Errorf("Arm of %#x: %v, want EBADF", fd, err)
		}
		w.Disarm(fd, driver.Readable|driver.Writable)
	}
	a, _ := pair(t)
	w.Disarm(uintptr(a), driver.Readable|driver.Writable|driver.HangUp)
}

func TestHighDescriptor(t *testing.T) {
	watchdog(t)
	w := openWatcher(t)
	a, b := pair(t)
	high, err := unix.FcntlInt(uintptr(a), unix.F_DUPFD_CLOEXEC, 900)
	if err != nil {
		t.Skipf("no descriptor above 900: %v", err)
	}
	defer unix.Close(high)
	s := new(sink)
	arm(t, w, high, driver.Readable, s)
	write(t, b, "x")
	expect(t, w, s, driver.Readable)
	w.Disarm(uintptr(high), driver.Readable)
}

// TestReuse closes a descriptor in the middle of a batch of events and gives
// its number to another, once for each of the two in the batch: the new owner
// must not get the old one's events.
func TestReuse(t *testing.T) {
	watchdog(t)
	w := openWatcher(t)
	both := driver.Readable | driver.Writable
	var a, b [2]int
	for i := range a {
		a[i], b[i] = pair(t)
	}
	quiet, peer := pair(t)
	first, heir := -1, new(sink)
	var s [2]sink
	for i := range s {
		s[i].then = func() {
			if first >= 0 {
				return
			}
			first = i
			other := a[1-i]
			w.Disarm(uintptr(other), both)
			if err := unix.Dup2(quiet, other); err != nil { // closes it
				t.Error(err)
			}
			arm(t, w, other, driver.Readable, heir)
		}
		arm(t, w, a[i], driver.Readable, &s[i])
	}
	write(t, b[0], "x")
	write(t, b[1], "x")
	for first < 0 {
		sleep(t, w)
	}
	silent(t, w, heir)
	if s[1-first].calls != 0 {
		t.Error("Ready was called after Disarm, in the same batch")
	}
	write(t, peer, "x")
	expect(t, w, heir, driver.Readable)
}

// Closing a descriptor without Disarm is a mistake, but the next owner of the
// number is not affected.
func TestReuseWithoutDisarm(t *testing.T) {
	watchdog(t)
	w := openWatcher(t)
	a, _ := pair(t)
	dead := new(sink)
	arm(t, w, a, driver.Readable|driver.Writable, dead)
	expect(t, w, dead, driver.Writable)
	dead.take()
	c, d := pair(t)
	if err := unix.Dup2(c, a); err != nil {
		t.Fatal(err)
	}
	s := new(sink)
	arm(t, w, a, driver.Readable, s)
	write(t, d, "x")
	expect(t, w, s, driver.Readable)
	if dead.calls != 0 {
		t.Error("Ready of a closed descriptor's sink was called")
	}
	w.Disarm(uintptr(a), driver.Readable)
	silent(t, w, dead)
}

// A sink may disarm itself, arm another, and close, all in Ready.
func TestArmInReady(t *testing.T) {
	watchdog(t)
	w := openWatcher(t)
	a, b := pair(t)
	c, _ := pair(t)
	s, next := new(sink), new(sink)
	s.then = func() {
		w.Disarm(uintptr(a), driver.Readable|driver.Writable)
		arm(t, w, c, driver.Writable, next)
	}
	writer := new(sink)
	arm(t, w, a, driver.Readable, s)
	arm(t, w, a, driver.Writable, writer)
	write(t, b, "x")
	for s.calls == 0 {
		writer.take()
		sleep(t, w)
	}
	told := writer.calls
	expect(t, w, next, driver.Writable)
	if writer.calls != told {
		t.Error("Ready of the writer was called after the reader had disarmed it")
	}
}

// More descriptors than one look takes: each sink gets its edge once.
func TestManyDescriptors(t *testing.T) {
	watchdog(t)
	const many = 300
	w := openWatcher(t)
	sinks := make([]sink, many)
	fds := make([]int, many)
	for i := range fds {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		fds[i] = fd
		arm(t, w, fd, driver.Writable, &sinks[i])
	}
	for i := range sinks {
		expect(t, w, &sinks[i], driver.Writable)
	}
	glance(t, w)
	for i, fd := range fds {
		w.Disarm(uintptr(fd), driver.Writable)
		if sinks[i].calls != 1 {
			t.Errorf("descriptor %d: %d calls of Ready for one edge", i, sinks[i].calls)
		}
	}
}

// The driver keeps no sink that was disarmed or replaced, and none after Close.
func TestDisarmForgetsTheSink(t *testing.T) {
	w := openWatcher(t)
	a, _ := pair(t)
	gone := func() (gone [3]weak.Pointer[sink]) {
		for i := range gone {
			s := &sink{then: func() {}}
			gone[i] = weak.Make(s)
			arm(t, w, a, driver.Readable|driver.Writable, s)
			glance(t, w)
			if i == 0 {
				w.Disarm(uintptr(a), driver.Readable|driver.Writable)
			}
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		return gone
	}()
	for i := range gone {
		if !leak.Collected(func() bool { return gone[i].Value() == nil }) {
			t.Errorf("sink %d is still held", i)
		}
	}
	runtime.KeepAlive(w)
}

func TestWatchingDoesNotAllocate(t *testing.T) {
	w := openWatcher(t)
	a, b := pair(t)
	s := new(sink)
	one, buf := []byte("x"), make([]byte, 8)
	if n := testing.AllocsPerRun(100, func() {
		w.Arm(uintptr(a), driver.Readable, s)
		unix.Write(b, one)
		for s.told == 0 {
			w.Poll(driver.Forever)
		}
		s.take()
		unix.Read(a, buf)
		w.Arm(uintptr(a), driver.Readable, s)
		w.Arm(uintptr(a), driver.Writable, s)
		w.Poll(0)
		w.Disarm(uintptr(a), driver.Readable|driver.Writable)
		s.take()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
