//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package poll_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/driver"
)

// What the tests of descriptors share: a driver that watches, a sink that
// remembers, and sockets to watch.

// A watcher is a driver that is a Poller too.
type watcher interface {
	driver.Driver
	driver.Poller
}

func openWatcher(t testing.TB) watcher {
	t.Helper()
	w, ok := open(t).(watcher)
	if !ok {
		t.Fatal("the driver watches no descriptors")
	}
	return w
}

// A sink records the events it gets, and calls a function in Ready if it has
// one.
type sink struct {
	told  driver.Events
	calls int
	then  func()
}

func (s *sink) Ready(ev driver.Events) {
	s.told |= ev
	s.calls++
	if s.then != nil {
		s.then()
	}
}

// take returns the events since the last take.
func (s *sink) take() driver.Events {
	told := s.told
	s.told, s.calls = 0, 0
	return told
}

// pair returns two connected non-blocking stream sockets.
func pair(t testing.TB) (a, b int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if err := unix.SetNonblock(fd, true); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
	}
	return fds[0], fds[1]
}

func arm(t testing.TB, w watcher, fd int, want driver.Events, s driver.Sink) {
	t.Helper()
	if err := w.Arm(uintptr(fd), want, s); err != nil {
		t.Fatalf("Arm of %d: %v", fd, err)
	}
}

func write(t testing.TB, fd int, data string) {
	t.Helper()
	if n, err := unix.Write(fd, []byte(data)); n != len(data) || err != nil {
		t.Errorf("write: %d, %v", n, err)
	}
}

// drain reads until EAGAIN and returns the number of bytes.
func drain(t testing.TB, fd int) (total int) {
	t.Helper()
	var buf [512]byte
	for {
		n, err := unix.Read(fd, buf[:])
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN || n == 0 && err == nil:
			return total
		case err != nil:
			t.Fatalf("read: %v", err)
		default:
			total += n
		}
	}
}

// fill writes until EAGAIN.
func fill(t testing.TB, fd int) {
	t.Helper()
	buf := make([]byte, 1<<14)
	for {
		if _, err := unix.Write(fd, buf); err == unix.EAGAIN {
			return
		} else if err != nil && err != unix.EINTR {
			t.Fatalf("write: %v", err)
		}
	}
}

// expect polls until the sink has got at least the wanted events.
func expect(t testing.TB, w watcher, s *sink, want driver.Events) {
	t.Helper()
	for s.told&want != want {
		sleep(t, w)
	}
}

// silent polls and expects no event for the sink.
func silent(t testing.TB, w watcher, s *sink) {
	t.Helper()
	for range 3 {
		glance(t, w)
	}
	if s.calls != 0 {
		t.Errorf("Ready got %b, want nothing", s.take())
	}
}
