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

// pipe returns the two ends of a pipe that does not block, the reader first.
func pipe(t *testing.T) (fds [2]int) {
	t.Helper()
	if err := unix.Pipe2(fds[:], unix.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		unix.Close(fds[0])
		unix.Close(fds[1])
	})
	return fds
}

// TestGlanceWithoutDescriptors: with nothing registered, a Poll that must not
// sleep makes no system call, and one that sleeps does not look into A. Method:
// A is replaced by an invalid descriptor, so that a call on it fails. Once
// something is registered the same Poll does fail.
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
	// One that sleeps does not ask A either.
	if err := p.Poll(p.Now() + 100_000); err != nil {
		t.Error(err)
	}
	p.a = a

	var s counter
	if err := p.Arm(uintptr(p.b), driver.Writable, &s); err == nil {
		t.Fatal("B was put into A, which is in B")
	}
	fds := pipe(t)
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
	b := p.b
	p.b = 1 << 30
	if err := p.Poll(driver.Forever); err == nil {
		t.Error("a Poll slept that could not enable A")
	}
	p.b = b
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
	fds := pipe(t)
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

// TestNotifyOnce: a sink of both directions is called once for events of both.
func TestNotifyOnce(t *testing.T) {
	var s counter
	w := watch{read: &s, write: &s}
	if w.notify(driver.Readable, driver.Writable); s != 1 {
		t.Errorf("%d calls of Ready", s)
	}
}

// TestUrgent: what a socket reports of urgent data concerns the reader alone.
func TestUrgent(t *testing.T) {
	if read, write := translate(unix.EPOLLPRI); read != driver.Urgent || write != 0 {
		t.Errorf("EPOLLPRI is %b for the reader and %b for the writer", read, write)
	}
}

// TestReports: a report of a relay reaches the sink once, and one of an earlier round does not.
func TestReports(t *testing.T) {
	p := openEpoll(t)
	fds := pipe(t)
	var s counter
	if err := p.Arm(uintptr(fds[0]), driver.Readable, &s); err != nil {
		t.Fatal(err)
	}
	round := p.watches.find(uintptr(fds[0])).round
	for want := counter(1); want < 4; want++ {
		p.report(report{uintptr(fds[0]), round - 1, driver.Readable, 0})
		p.report(report{uintptr(fds[0]), round, driver.Readable, 0})
		for range 2 {
			if err := p.Poll(0); err != nil {
				t.Fatal(err)
			}
		}
		if s != want || p.relays.some.Load() {
			t.Fatalf("%d calls of Ready for %d reports; there are reports: %v", s, want, p.relays.some.Load())
		}
	}
}

// TestEndOfWatch: what has ended is counted no more, and is in A no more unless its file ends next.
func TestEndOfWatch(t *testing.T) {
	all := driver.Readable | driver.Writable
	for _, c := range []struct {
		name string
		kept bool // in A
		end  func(p *epoll, fd uintptr)
	}{
		{"Disarm", false, func(p *epoll, fd uintptr) { p.Disarm(fd, all) }},
		{"Forget", true, func(p *epoll, fd uintptr) { p.Forget(fd) }},
		{"Forget after Disarm", false, func(p *epoll, fd uintptr) { p.Disarm(fd, all); p.Forget(fd) }},
		{"another file has the number", false, func(p *epoll, fd uintptr) {
			if err := unix.Dup3(p.b, int(fd), unix.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
			p.Disarm(fd, driver.Readable)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, fds := openEpoll(t), pipe(t)
			fd := uintptr(fds[0])
			p.Forget(fd)
			if err := p.Arm(fd, all, new(counter)); err != nil {
				t.Fatal(err)
			}
			c.end(p, fd)
			if w := p.watches.find(fd); p.watched != 0 || w.armed() != 0 {
				t.Errorf("%d watched, and %b armed", p.watched, w.armed())
			}
			if kept := p.ctl(p.a, unix.EPOLL_CTL_DEL, fds[0], 0, 0) == 0; kept != c.kept {
				t.Errorf("in A: %v", kept)
			}
		})
	}
}

// TestRelayEnds: a relay that has ended is not kept.
func TestRelayEnds(t *testing.T) {
	fds := pipe(t)
	var p *epoll
	var s counter
	arm := func() {
		if err := p.Arm(uintptr(fds[0]), driver.Readable, &s); err != nil {
			t.Fatal(err)
		}
	}
	for range 101 { // one more than epoll takes
		p = openEpoll(t)
		arm()
	}
	if n := len(p.relays.of); n != 1 {
		t.Fatalf("%d relays", n)
	}
	other := uintptr(pipe(t)[0])
	if err := p.Arm(other, driver.Readable, &s); err != nil {
		t.Fatal(err)
	}
	if p.Disarm(other, driver.Readable); p.watched != 0 {
		t.Errorf("%d watched beside a relay", p.watched)
	}
	if err := p.Arm(other, driver.Readable, &s); err != nil {
		t.Fatal(err)
	}
	if p.Forget(other); p.watched != 0 {
		t.Errorf("%d watched beside a relay after Forget", p.watched)
	}
	for _, end := range []func(){
		func() { p.Disarm(uintptr(fds[0]), driver.Readable) },
		func() { p.Forget(uintptr(fds[0])) },
	} {
		end()
		if n := len(p.relays.of); n != 0 || p.watches.find(uintptr(fds[0])).armed() != 0 {
			t.Errorf("%d relays are left", n)
		}
		arm()
	}
}

// TestSleepIsNotBusy: the Polls before a sleep no longer count.
func TestSleepIsNotBusy(t *testing.T) {
	p := openEpoll(t)
	for !p.slept {
		p.busy = busyMax - 1
		if err := p.Poll(p.Now() + 1000_000); err != nil {
			t.Fatal(err)
		}
	}
	if p.busy != 0 {
		t.Errorf("%d busy Polls after a sleep", p.busy)
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
	fds := pipe(t)
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
	// A sleep with an instant is started again, too, and lasts until then.
	until := p.Now() + 1000_000
	p.deadline = until
	if err := p.file.SetReadDeadline(p.past); err != nil {
		t.Fatal(err)
	}
	if err := p.Poll(until); err != nil || p.Now() < until {
		t.Errorf("a late Wake ended the sleep: %v", err)
	}
}
