//go:build linux && !rondo_portable

package poll

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/driver"
)

// What only the inside of the epoll backend shows.

type counter int

func (c *counter) Ready(driver.Events) { *c++ }

func openEpoll(t *testing.T) *epoll {
	t.Helper()
	d, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d.(*epoll)
}

// TestGlanceWithoutDescriptors: with nothing registered, a Poll that must not
// sleep makes no system call. Method: A is replaced by an invalid descriptor,
// so that a call on it fails. Once something is registered the same Poll does
// fail.
func TestGlanceWithoutDescriptors(t *testing.T) {
	p := openEpoll(t)
	a := p.a
	defer func() { p.a = a }()

	p.a = 1 << 30
	for range 2 * busyMax {
		if err := p.Poll(0); err != nil {
			t.Fatal(err)
		}
	}
	p.a = a

	var s counter
	if err := p.Arm(uintptr(p.b), driver.Writable, &s); err == nil {
		t.Fatal("B was put into A, which is in B")
	}
	var fds [2]int
	if err := unix.Pipe(fds[:]); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	if err := p.Arm(uintptr(fds[0]), driver.Readable, &s); err != nil {
		t.Fatal(err)
	}
	p.a = 1 << 30
	if err := p.Poll(0); err == nil {
		t.Error("a Poll with a descriptor made no system call")
	}
	if err := p.Poll(driver.Forever); err == nil {
		t.Error("a sleeping Poll did not report its system call's error")
	}
	p.a = a
	p.Disarm(uintptr(fds[0]), driver.Readable)
	p.a = 1 << 30
	if err := p.Poll(0); err != nil {
		t.Error("a Poll still makes system calls after the last Disarm")
	}
}

// TestListening: A is enabled in B from the first sleep until busyMax Polls in
// a row have not slept, and again from the next sleep.
func TestListening(t *testing.T) {
	p := openEpoll(t)
	var fds [2]int
	if err := unix.Pipe(fds[:]); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	if err := p.Arm(uintptr(fds[0]), driver.Readable, new(counter)); err != nil {
		t.Fatal(err)
	}
	for round := range 4 {
		if p.listening {
			t.Fatal("listening before a sleep, or when busy")
		}
		listen(t, p)
		for n := range busyMax {
			if !p.listening {
				t.Fatalf("stopped listening after %d Polls without sleep", n)
			}
			until := int64(0)
			if round%2 == 1 {
				until = driver.Forever
				if _, err := unix.Write(fds[1], []byte("x")); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.Poll(until); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// listen sleeps, which enables A in B. A Poll does not sleep if its instant has passed
// before it begins, as it may on a busy machine.
func listen(t *testing.T, p *epoll) {
	t.Helper()
	for !p.listening {
		if err := p.Poll(p.Now() + 1000_000); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLateWake: a Wake that found a sleeper may reach it only after the sleep
// has ended. The next sleep then finds a deadline in the past. It must neither
// end because of that nor lose its event.
func TestLateWake(t *testing.T) {
	p := openEpoll(t)
	var fds [2]int
	if err := unix.Pipe(fds[:]); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	var s counter
	if err := p.Arm(uintptr(fds[0]), driver.Readable, &s); err != nil {
		t.Fatal(err)
	}
	listen(t, p) // so that only sleeps find events
	for want := counter(1); p.listening; want++ {
		if _, err := unix.Write(fds[1], []byte("x")); err != nil {
			t.Fatal(err)
		}
		if err := p.file.SetReadDeadline(p.past); err != nil { // the late Wake
			t.Fatal(err)
		}
		if err := p.Poll(driver.Forever); err != nil {
			t.Fatal(err)
		}
		if s != want {
			t.Fatalf("%d calls of Ready for %d edges", s, want)
		}
	}
}
