//go:build linux && !rondo_portable

package poll

// Descriptors that A cannot take. Linux limits how many paths of nested epolls
// may lead to an open file: 100 of the length that they have here, in all
// processes together. Servers that share a listener can exceed it.
//
// Such a descriptor is watched by a relay: a goroutine for each direction,
// which waits in the runtime's own poller. That one is in no other epoll, so it
// has no limit. The relay hands what it finds to the loop and wakes it. It costs
// a switch of goroutines an event.
//
// The law: a relay asks poll(2) inside the callback of RawConn.Read, which
// forgets the readiness before the callback, so no edge is lost. The same edge may be
// reported twice: an operation that finds nothing then arms again.

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/driver"
)

// relays is what a driver has of them.
type relays struct {
	of      map[uintptr]*relay // by descriptor; only on the loop
	running sync.WaitGroup     // their goroutines
	some    atomic.Bool        // there are reports
	mu      sync.Mutex         // guards reports; held for a few instructions
	reports []report
}

// A relay watches one descriptor, in one round of its watch.
type relay struct {
	file  *os.File // a duplicate, in the runtime's poller
	fd    uintptr
	round int64
}

// A report says what has become possible on a descriptor.
type report struct {
	fd          uintptr
	round       int64
	read, write driver.Events
}

// startRelay watches fd in the given directions, because epoll_ctl has failed
// with errno.
func (p *epoll) startRelay(fd uintptr, which driver.Events, round int64, errno syscall.Errno) error {
	if fd == uintptr(p.a) || fd == uintptr(p.b) {
		return control(errno)
	}
	flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
	if err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	if flags&unix.O_NONBLOCK == 0 {
		// The runtime's poller takes none, and the mode belongs to the program.
		return fmt.Errorf("%w: about 100 loops watch this open file already, and only a non-blocking descriptor can be watched by more", control(errno))
	}
	own, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	r := &relay{file: os.NewFile(uintptr(own), "rondo-relay"), fd: fd, round: round}
	raw, err := r.file.SyscallConn()
	if err == nil {
		// This fails if the runtime's poller did not take it.
		err = r.file.SetDeadline(time.Time{})
	}
	if err != nil {
		r.file.Close()
		return errors.Join(control(errno), err)
	}
	if p.relays.of == nil {
		p.relays.of = make(map[uintptr]*relay)
	}
	p.relays.of[fd] = r
	if which&driver.Readable != 0 {
		p.relays.running.Go(func() { p.watchBy(r, raw.Read, unix.POLLIN|unix.POLLRDHUP|unix.POLLPRI) })
	}
	if which&driver.Writable != 0 {
		p.relays.running.Go(func() { p.watchBy(r, raw.Write, unix.POLLOUT) })
	}
	return nil
}

// watchBy reports edges until the file is closed. wait is Read or Write of its
// RawConn.
func (p *epoll) watchBy(r *relay, wait func(func(uintptr) bool) error, want int16) {
	// It returns only with the error of a closed file.
	_ = wait(func(sys uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(sys), Events: want}}
		for {
			if _, err := unix.Poll(poll, 0); err != unix.EINTR {
				break
			}
		}
		read, write := translate(uint32(uint16(poll[0].Revents)))
		if read|write != 0 {
			p.report(report{r.fd, r.round, read, write})
		}
		return false
	})
}

// report hands a report to the loop. Any goroutine may call it.
func (p *epoll) report(r report) {
	p.relays.mu.Lock()
	p.relays.reports = append(p.relays.reports, r)
	p.relays.some.Store(true)
	p.relays.mu.Unlock()
	p.Wake()
}

// deliverReports passes the reports to their sinks, as deliver does with events.
func (p *epoll) deliverReports() {
	if !p.relays.some.Load() {
		return
	}
	p.relays.mu.Lock()
	reports := p.relays.reports
	p.relays.reports = nil
	p.relays.some.Store(false)
	p.relays.mu.Unlock()
	for _, r := range reports {
		if w := p.watches.find(r.fd); w != nil && w.round == r.round {
			w.notify(r.read, r.write)
		}
	}
}

// endRelay ends the relay of fd, and reports whether there was one. What it has
// reported belongs to an earlier round once Arm begins another one.
func (p *epoll) endRelay(fd uintptr) bool {
	r := p.relays.of[fd]
	if r == nil {
		return false
	}
	delete(p.relays.of, fd)
	r.file.Close()
	return true
}

// endRelays ends all of them, and waits for their goroutines, which call nothing that waits. That
// a file's Close waits for the calls in progress is documented nowhere.
func (p *epoll) endRelays() {
	for _, r := range p.relays.of {
		r.file.Close()
	}
	p.relays.running.Wait()
}
