//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package poll_test

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/driver"
)

// The contract of driver.Poller, checked for the backend that Open returns.

// Data that was there before Arm is reported too.
func TestReadableBeforeArm(t *testing.T) {
	watchdog(t)
	w := openWatcher(t)
	a, b := pair(t)
	write(t, b, "early")
	s := new(sink)
	arm(t, w, a, driver.Readable, s)
	expect(t, w, s, driver.Readable)
	// Reports are edges: unread data is reported once.
	s.take()
	silent(t, w, s)
	// More data is another edge.
	write(t, b, "more")
	expect(t, w, s, driver.Readable)
}

func TestWritable(t *testing.T) {
	watchdog(t)
	w := openWatcher(t)
	a, b := pair(t)
	fill(t, a)
	s := new(sink)
	arm(t, w, a, driver.Writable, s)
	silent(t, w, s)
	for range 5 {
		drain(t, b)
		expect(t, w, s, driver.Writable)
		if told := s.take(); told != driver.Writable {
			t.Errorf("Ready got %b, want Writable alone", told)
		}
		fill(t, a)
		arm(t, w, a, driver.Writable, s)
		glance(t, w)
		s.take() // a reader may make room while the socket is being filled
	}
}

// Each direction has its own sink, or both have the same one.
func TestBothDirections(t *testing.T) {
	watchdog(t)
	w := openWatcher(t)
	a, b := pair(t)
	reader, writer := new(sink), new(sink)
	arm(t, w, a, driver.Readable, reader)
	arm(t, w, a, driver.Writable, writer)
	expect(t, w, writer, driver.Writable)
	write(t, b, "x")
	expect(t, w, reader, driver.Readable)
	if reader.take() != driver.Readable || writer.take() != driver.Writable {
		t.Error("a sink got an event of the other's direction")
	}

	// Disarming one direction leaves the other.
	w.Disarm(uintptr(a), driver.Writable)
	write(t, b, "x")
	expect(t, w, reader, driver.Readable)
	if writer.calls != 0 {
		t.Error("Ready was called after Disarm")
	}
	w.Disarm(uintptr(a), driver.Readable|driver.Writable)

	whole := new(sink)
	arm(t, w, a, driver.Readable|driver.Writable, whole)
	expect(t, w, whole, driver.Readable|driver.Writable)
	w.Disarm(uintptr(a), driver.Readable|driver.Writable)
	whole.take()
	write(t, b, "x")
	silent(t, w, whole)
}

// TestTakeover: a sink that takes a direction over gets the event that the sink
// before it has already got, and that one gets nothing more.
func TestTakeover(t *testing.T) {
	watchdog(t)
	w := openWatcher(t)
	a, b := pair(t)
	first, second, third := new(sink), new(sink), new(sink)
	write(t, b, "unread")
	arm(t, w, a, driver.Readable, first)
	expect(t, w, first, driver.Readable)
	first.take()
	arm(t, w, a, driver.Readable, second)
	expect(t, w, second, driver.Readable)
	second.take()
	arm(t, w, a, driver.Readable|driver.Writable, third)
	expect(t, w, third, driver.Readable|driver.Writable)
	write(t, b, "more")
	expect(t, w, third, driver.Readable)
	if first.calls+second.calls != 0 {
		t.Error("Ready of a replaced sink was called")
	}
	// A direction that was disarmed and armed again also starts anew.
	w.Disarm(uintptr(a), driver.Readable)
	third.take()
	arm(t, w, a, driver.Readable, third)
	expect(t, w, third, driver.Readable)
}

func TestHangUp(t *testing.T) {
	watchdog(t)
	for _, c := range []struct {
		name string
		end  func(t *testing.T, fd int)
		read driver.Events
		both bool // both directions have ended
	}{
		{"Shutdown", func(t *testing.T, fd int) {
			if err := unix.Shutdown(fd, unix.SHUT_WR); err != nil {
				t.Fatal(err)
			}
		}, driver.Readable | driver.HangUp, false},
		{"Close", func(t *testing.T, fd int) { unix.Close(fd) }, driver.Readable | driver.HangUp, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := openWatcher(t)
			fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				t.Fatal(err)
			}
			closed := false
			defer func() {
				unix.Close(fds[0])
				if !closed {
					unix.Close(fds[1])
				}
			}()
			reader, writer := new(sink), new(sink)
			arm(t, w, fds[0], driver.Readable, reader)
			arm(t, w, fds[0], driver.Writable, writer)
			expect(t, w, writer, driver.Writable)
			reader.take()
			writer.take()
			c.end(t, fds[1])
			closed = c.both
			expect(t, w, reader, c.read)
			if c.both {
				expect(t, w, writer, driver.Writable|driver.HangUp)
			} else if writer.told&driver.HangUp != 0 {
				t.Error("the writer got a hang-up, and can still write")
			}
			w.Disarm(uintptr(fds[0]), driver.Readable|driver.Writable)
		})
	}
}

func TestPipeHangUp(t *testing.T) {
	watchdog(t)
	w := openWatcher(t)
	var r, wr [2]int
	if err := errors.Join(unix.Pipe(r[:]), unix.Pipe(wr[:])); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(r[0])
	defer unix.Close(wr[1])
	reader, writer := new(sink), new(sink)
	arm(t, w, r[0], driver.Readable, reader)
	unix.Close(r[1])
	expect(t, w, reader, driver.Readable|driver.HangUp)
	arm(t, w, wr[1], driver.Writable, writer)
	expect(t, w, writer, driver.Writable)
	unix.Close(wr[0])
	expect(t, w, writer, driver.Writable|driver.HangUp)
}
