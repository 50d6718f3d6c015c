//go:build (darwin || freebsd || dragonfly) && !rondo_portable

package poll

// The backend of the systems that have kqueue(2) with EVFILT_USER.
//
// Poll blocks in kevent, an ordinary system call, so an exchange with a
// goroutine waits until the runtime has taken the P from the sleeping thread.
// Each direction of a descriptor is one filter with EV_CLEAR, which reports
// edges. Wake triggers a user event, which stays triggered until a kevent takes
// it, so it may come at any moment of a sleep.

import (
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/driver"
)

const (
	eventMax = 256       // events taken by one look; what is left comes with the next
	sleepMax = time.Hour // what every kernel takes as a timeout; Poll may return early
)

// A kqueue is a driver.Poller. Only Wake may be called on any goroutine. kq is
// closed under mu, so no Wake triggers an event of a number that was reused.
type kqueue struct {
	wake wakeFlag
	clock
	mu sync.Mutex // Wake against Close
	kq int        // -1 when closed

	looks   int64 // kevents made: the round of what is armed before the next
	watches watchTable
	watched int // descriptors with a sink
	events  [eventMax]unix.Kevent_t
}

var _ driver.Poller = (*kqueue)(nil)

func open() (driver.Driver, error) {
	kq, err := unix.Kqueue()
	if err != nil {
		return nil, os.NewSyscallError("kqueue", err)
	}
	unix.CloseOnExec(kq)
	p := &kqueue{clock: newClock(), kq: kq}
	if err := p.change(0, unix.EVFILT_USER, unix.EV_ADD|unix.EV_CLEAR, 0); err != nil {
		unix.Close(kq)
		return nil, err
	}
	return p, nil
}

// Poll delivers pending events. If there are none it sleeps until one comes,
// until Wake, or until the instant.
func (p *kqueue) Poll(until int64) error {
	var wait time.Duration
	switch {
	case p.wake.take() || until <= 0:
	case until == driver.Forever:
		wait = sleepMax
	default:
		wait = min(time.Duration(until-p.Now()), sleepMax)
	}
	if wait <= 0 {
		if p.watched == 0 {
			return nil
		}
		return p.look(0)
	}
	if !p.wake.sleepBegin() {
		return p.look(0)
	}
	err := p.look(wait)
	p.wake.sleepEnd()
	return err
}

// look takes pending events, waits for some if wait is not zero, and passes
// them to their sinks.
func (p *kqueue) look(wait time.Duration) error {
	p.looks++
	timeout := unix.NsecToTimespec(int64(wait))
	n, err := unix.Kevent(p.kq, nil, p.events[:], &timeout)
	if err == syscall.EINTR {
		return nil
	}
	if err != nil {
		return os.NewSyscallError("kevent", err)
	}
	for i := range p.events[:n] {
		e := &p.events[i]
		if e.Filter == unix.EVFILT_USER {
			continue
		}
		w := p.watches.find(uintptr(e.Ident))
		// A watch of this round was armed by a sink called just now; the event
		// belongs to an earlier descriptor with the same number.
		if w == nil || w.round == p.looks {
			continue
		}
		var hangUp driver.Events
		if e.Flags&unix.EV_EOF != 0 {
			hangUp = driver.HangUp
		}
		switch e.Filter {
		case unix.EVFILT_READ:
			w.notify(driver.Readable|hangUp, 0)
		case unix.EVFILT_WRITE:
			w.notify(0, driver.Writable|hangUp)
		}
	}
	return nil
}

// Arm asks for events of fd for s. It makes a system call only if one of the
// directions was not armed or had another sink. In that case the filter is
// added again, so s also gets an event that was reported to an earlier sink.
//
// It returns syscall.EPERM for a regular file or a directory, which never
// block: kqueue would accept them and never report the end of a file.
func (p *kqueue) Arm(fd uintptr, want driver.Events, s driver.Sink) error {
	want &= both
	if want == 0 {
		return nil
	}
	if p.kq < 0 {
		return os.ErrClosed
	}
	if w := p.watches.find(fd); w != nil && w.has(want, s) {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(fd), &st); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	if kind := uint32(st.Mode) & unix.S_IFMT; kind == unix.S_IFREG || kind == unix.S_IFDIR {
		return syscall.EPERM
	}
	w := p.watches.at(fd)
	had := w.armed()
	for _, d := range []driver.Events{driver.Readable, driver.Writable} {
		if want&d == 0 || w.has(d, s) {
			continue
		}
		if had&d != 0 {
			_ = p.change(fd, filter(d), unix.EV_DELETE, 0) // it may be gone with its descriptor
		}
		if err := p.change(fd, filter(d), unix.EV_ADD|unix.EV_CLEAR, 0); err != nil {
			return err
		}
		if w.armed() == 0 {
			p.watched++
			w.round = p.looks
		}
		w.set(d, s)
	}
	return nil
}

// Disarm ends the reports of the given directions. It is no error if closing
// the descriptor has ended them already.
func (p *kqueue) Disarm(fd uintptr, which driver.Events) {
	w := p.watches.find(fd)
	if w == nil || w.armed()&which == 0 {
		return
	}
	for _, d := range []driver.Events{driver.Readable, driver.Writable} {
		if w.armed()&which&d != 0 {
			_ = p.change(fd, filter(d), unix.EV_DELETE, 0)
		}
	}
	w.set(which, nil)
	if w.armed() == 0 {
		p.watched--
	}
}

// Forget ends the reports of fd.
func (p *kqueue) Forget(fd uintptr) { p.Disarm(fd, both) }

// filter returns kqueue's name of a direction.
func filter(d driver.Events) int {
	if d == driver.Readable {
		return unix.EVFILT_READ
	}
	return unix.EVFILT_WRITE
}

// change makes one change to the kqueue and takes no events.
func (p *kqueue) change(fd uintptr, filter, flags int, fflags uint32) error {
	var changes [1]unix.Kevent_t
	unix.SetKevent(&changes[0], int(fd), filter, flags)
	changes[0].Fflags = fflags
	for {
		_, err := unix.Kevent(p.kq, changes[:], nil, nil)
		if err != syscall.EINTR {
			return os.NewSyscallError("kevent", err)
		}
	}
}

// Wake ends a Poll that sleeps, or the next one.
func (p *kqueue) Wake() {
	if !p.wake.set() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kq >= 0 {
		// The event exists as long as the kqueue does.
		_ = p.change(0, unix.EVFILT_USER, 0, unix.NOTE_TRIGGER)
	}
}

// Poller returns p, which watches descriptors.
func (p *kqueue) Poller() driver.Poller { return p }

// Close releases the kqueue. A second Close does nothing.
func (p *kqueue) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kq < 0 {
		return nil
	}
	err := os.NewSyscallError("close", unix.Close(p.kq))
	p.kq = -1
	p.watches = watchTable{}
	return err
}
