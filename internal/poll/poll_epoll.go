//go:build linux && !rondo_portable

package poll

// The backend of Linux.
//
// The loop must not sleep in a blocking epoll_wait: the thread would keep its P
// until sysmon takes it away, and with one P an exchange with a goroutine would
// cost hundreds of microseconds. So the loop sleeps in the runtime's own
// poller, as all Go code does, and that takes three epolls in a row:
//
//	the runtime's  contains  B, an os.File  contains  A  contains  the sockets
//
// A is read with epoll_wait(A, 0), which never blocks. When it has nothing, the
// goroutine parks in the runtime's poller as a reader of B. An event of a
// socket makes A readable, which makes B readable, which readies the goroutine.
// A timeout is B's read deadline. Wake sets that deadline to the past, which
// takes no system call.
//
// Three laws keep events from being lost, and each has a test that hangs
// without it:
//
//   - Enabling A in B and the last look into A happen inside the callback of
//     RawConn.Read. Before the callback Read forgets the readiness it had, so
//     an edge between a look and Read would go unseen.
//   - The deadline is set after wakeFlag.sleepBegin and before a last look at
//     the flag, because it may overwrite the past deadline of a Wake.
//   - The past deadline of a slow Wake may come at any time later. A Read that
//     ends by it before its time is started again with the right deadline.
//
// While A is enabled in B, each packet makes some idle thread of the runtime
// look into B, for nothing if the loop is busy. So a loop that has been busy
// for several Polls disables A, by epoll_ctl(B, MOD, A, 0), and enables it
// again when it next has to sleep.
//
// See epoll(7), epoll_ctl(2) and epoll_wait(2).

import (
	"errors"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/driver"
)

const (
	eventMax = 256 // events taken by one look; what is left comes with the next
	busyMax  = 8   // Polls without sleep after which A is disabled in B
)

// An epoll is a driver.Poller. Only Wake may be called on any goroutine. It
// uses wake, past and file; the last two never change.
type epoll struct {
	wake wakeFlag
	clock
	past time.Time // a time that has passed
	file *os.File  // B
	raw  syscall.RawConn
	b    int
	a    int // -1 when closed

	deadline  int64 // what B's deadline was set to; unknown if a Wake may have changed it
	listening bool  // B has A's events enabled
	busy      int   // Polls without sleep in a row
	watches   watchTable
	watched   int // descriptors registered in A
	relays    relays

	// The results of one attempt, for the Poll that made it.
	attempt func(uintptr) bool // p.try, bound once
	n       int                // events that wait to be delivered
	tried   bool
	slept   bool
	err     error

	scratch unix.EpollEvent // for epoll_ctl, so that none escapes
	events  [eventMax]unix.EpollEvent
}

var _ driver.Poller = (*epoll)(nil)

// unknown is no instant that a Poll can sleep until.
const unknown int64 = 0

func open() (driver.Driver, error) {
	p := &epoll{clock: newClock(), deadline: unknown}
	p.past = p.start
	p.attempt = p.try
	var err error
	if p.a, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err = p.openB(); err != nil {
		unix.Close(p.a)
		return nil, err
	}
	return p, nil
}

// openB opens B, adds A to it, and makes it a file of the runtime's poller.
func (p *epoll) openB() error {
	b, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	p.b = b
	// os.NewFile adds a file to the runtime's poller only if it is nonblocking,
	// and epoll_create1 has no flag for that.
	if err = unix.SetNonblock(b, true); err != nil {
		unix.Close(b)
		return os.NewSyscallError("fcntl", err)
	}
	p.file = os.NewFile(uintptr(b), "rondo-poller")
	if p.raw, err = p.file.SyscallConn(); err == nil {
		// This fails if the runtime's poller did not take B.
		err = p.file.SetReadDeadline(time.Time{})
	}
	if err == nil {
		err = control(p.ctl(b, unix.EPOLL_CTL_ADD, p.a, 0, 0))
	}
	if err != nil {
		p.file.Close()
	}
	return err
}

// Poll delivers pending events. If there are none it sleeps until one comes,
// until Wake, or until the instant.
func (p *epoll) Poll(until int64) error {
	if p.wake.take() || until <= 0 || until != driver.Forever && until <= p.Now() {
		return p.look()
	}
	// A busy loop finds events without enabling A in B.
	if p.watched > 0 && !p.listening {
		if p.wait(); p.n > 0 || p.err != nil {
			return p.deliver()
		}
	}
	if !p.wake.sleepBegin() {
		return p.look()
	}
	p.tried, p.slept, p.n, p.err = false, false, 0, nil
	err := p.sleep(until)
	if p.wake.sleepEnd() {
		p.deadline = unknown
	}
	if err != nil {
		return err
	}
	if !p.tried {
		return p.look() // woken before A was asked
	}
	if p.slept {
		p.busy = 0
	} else if err := p.countBusy(); err != nil {
		return err
	}
	return p.deliver()
}

// look delivers pending events without sleeping.
func (p *epoll) look() error {
	if p.watched == 0 {
		p.deliverReports()
		return nil
	}
	if err := p.countBusy(); err != nil {
		return err
	}
	p.wait()
	return p.deliver()
}

// countBusy counts a Poll that did not sleep. After busyMax of them in a row it
// disables A in B.
func (p *epoll) countBusy() error {
	if !p.listening {
		return nil
	}
	if p.busy++; p.busy < busyMax {
		return nil
	}
	p.busy, p.listening = 0, false
	return control(p.ctl(p.b, unix.EPOLL_CTL_MOD, p.a, 0, 0))
}

// sleep parks the goroutine in the runtime's poller until there are events in
// p.events, Wake was called, or the instant has come.
func (p *epoll) sleep(until int64) error {
	for {
		if p.deadline != until {
			if err := p.expire(until); err != nil {
				return err
			}
		}
		if !p.wake.asleep() {
			return nil
		}
		err := p.raw.Read(p.attempt)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		p.deadline = unknown
		if until != driver.Forever && until <= p.Now() {
			return nil
		}
	}
}

// expire sets the instant at which a reader of B gives up.
func (p *epoll) expire(until int64) error {
	var t time.Time // zero: never
	if until != driver.Forever {
		t = p.Time(until)
	}
	p.deadline = until
	return p.file.SetReadDeadline(t)
}

// try is the callback of RawConn.Read. It reports whether the reading is done,
// and is called again each time the goroutine was readied.
func (p *epoll) try(uintptr) bool {
	p.tried = true
	if p.watched > 0 {
		if !p.listening {
			if errno := p.ctl(p.b, unix.EPOLL_CTL_MOD, p.a, unix.EPOLLIN, 0); errno != 0 {
				p.err = control(errno)
				return true
			}
			p.listening = true
		}
		if p.wait(); p.n > 0 || p.err != nil {
			return true
		}
	}
	p.slept = true
	return false
}

// wait asks A for events. It does not block, so the scheduler need not know of
// it. arm64 has no epoll_wait, only epoll_pwait.
func (p *epoll) wait() {
	for {
		n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.a),
			uintptr(unsafe.Pointer(&p.events)), eventMax, 0, 0, 0)
		switch errno {
		case 0:
			p.n, p.err = int(n), nil
			return
		case syscall.EINTR:
		default:
			p.n, p.err = 0, os.NewSyscallError("epoll_pwait", errno)
			return
		}
	}
}

// deliver passes the events that wait took to their sinks.
func (p *epoll) deliver() error {
	for i := range p.events[:p.n] {
		e := &p.events[i]
		w := p.watches.find(uintptr(e.Fd))
		// An event of an earlier round belongs to a descriptor that was closed:
		// by a sink called just now, or while a duplicate of it is still open.
		if w == nil || int32(w.round) != e.Pad {
			continue
		}
		w.notify(translate(e.Events))
	}
	p.deliverReports()
	return p.err
}

// translate returns what an event says to the two sinks. An error or a hang-up
// of both sides concerns both; the end of the peer's sending concerns only the
// reader.
func translate(bits uint32) (read, write driver.Events) {
	if bits&unix.EPOLLIN != 0 {
		read |= driver.Readable
	}
	if bits&unix.EPOLLPRI != 0 {
		read |= driver.Urgent
	}
	if bits&unix.EPOLLOUT != 0 {
		write |= driver.Writable
	}
	if bits&unix.EPOLLRDHUP != 0 {
		read |= driver.Readable | driver.HangUp
	}
	if bits&(unix.EPOLLERR|unix.EPOLLHUP) != 0 {
		read |= driver.Readable | driver.HangUp
		write |= driver.Writable | driver.HangUp
	}
	return read, write
}

// Wake ends a Poll that sleeps, or the next one.
func (p *epoll) Wake() {
	if p.wake.set() {
		// It fails only if the driver was closed meanwhile.
		_ = p.file.SetReadDeadline(p.past)
	}
}

// Poller returns p, which watches descriptors.
func (p *epoll) Poller() driver.Poller { return p }

// Close releases the two epolls. A second Close does nothing.
func (p *epoll) Close() error {
	if p.a < 0 {
		return nil
	}
	p.endRelays()
	p.watches = watchTable{}
	err := os.NewSyscallError("close", unix.Close(p.a))
	p.a = -1
	return errors.Join(err, p.file.Close())
}

// ctl is epoll_ctl(2), as a call that does not block.
func (p *epoll) ctl(ep, op, fd int, bits uint32, round int64) syscall.Errno {
	p.scratch = unix.EpollEvent{Events: bits, Fd: int32(fd), Pad: int32(round)}
	_, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(ep), uintptr(op),
		uintptr(fd), uintptr(unsafe.Pointer(&p.scratch)), 0, 0)
	return errno
}

// control adds the name of the call to an error. EPERM is part of the contract
// of driver.Poller and stays as it is.
func control(errno syscall.Errno) error {
	if errno == syscall.EPERM {
		return errno
	}
	if errno == 0 {
		return nil
	}
	return os.NewSyscallError("epoll_ctl", errno)
}
