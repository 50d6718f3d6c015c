//go:build linux && !rondo_portable

package poll

// Registration of descriptors with epoll: edge-triggered, and only the
// directions that were asked for. A direction is registered at its first Arm
// and stays so; the kernel then reports each further edge by itself.

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/driver"
)

// interest returns the bits of epoll_ctl(2) for the directions.
func interest(ev driver.Events) uint32 {
	bits := uint32(unix.EPOLLET)
	if ev&driver.Readable != 0 {
		bits |= unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLPRI
	}
	if ev&driver.Writable != 0 {
		bits |= unix.EPOLLOUT
	}
	return bits
}

// Arm asks for events of fd for s. It makes a system call only if one of the
// directions was not armed or had another sink. In that case the kernel looks
// at the descriptor again, so s also gets an event that was reported to an
// earlier sink.
//
// It returns syscall.EPERM for a descriptor that never blocks, such as a
// regular file or a directory; any other error is that of a system call. One of
// these is not in the man page: EINVAL, if epolls watch the same open file 100
// times already and the descriptor is blocking. A non-blocking one gets a relay.
func (p *epoll) Arm(fd uintptr, want driver.Events, s driver.Sink) error {
	want &= both
	if want == 0 {
		return nil
	}
	if p.a < 0 {
		return os.ErrClosed
	}
	w := p.watches.find(fd)
	if w == nil {
		// A number that is no descriptor gets no entry in the table.
		if _, err := unix.FcntlInt(fd, unix.F_GETFD, 0); err != nil {
			return os.NewSyscallError("fcntl", err)
		}
		w = p.watches.at(fd)
	}
	if w.has(want, s) {
		return nil
	}
	had := w.armed()
	op := unix.EPOLL_CTL_MOD
	// The first look is for the stack of a task that waits to read: an access to
	// a map needs much. If there is a relay, A may take the descriptor by now. Also, a new sink
	// gets what was reported to an earlier one, and a new relay does that.
	if had == 0 || len(p.relays.of) > 0 && p.endRelay(fd) {
		op = unix.EPOLL_CTL_ADD
		w.round++
	}
	errno := p.ctl(p.a, op, int(fd), interest(had|want), w.round)
	switch {
	case errno == syscall.ENOENT && op == unix.EPOLL_CTL_MOD:
		// The descriptor was closed without Disarm, and its number was given to
		// another one. The armed directions belong to the old one.
		p.forget(w)
		return p.Arm(fd, want, s)
	case errno == syscall.EEXIST && op == unix.EPOLL_CTL_ADD:
		errno = p.ctl(p.a, unix.EPOLL_CTL_MOD, int(fd), interest(had|want), w.round)
	case (errno == syscall.EINVAL || errno == syscall.ELOOP) && op == unix.EPOLL_CTL_ADD:
		if err := p.startRelay(fd, had|want, w.round, errno); err != nil {
			w.set(both, nil)
			return err
		}
		w.set(want, s)
		return nil
	}
	if errno != 0 {
		if op == unix.EPOLL_CTL_ADD {
			w.set(both, nil) // there is no relay any more
		}
		return control(errno)
	}
	if op == unix.EPOLL_CTL_ADD {
		p.watched++
	}
	w.set(want, s)
	return nil
}

// Disarm ends the reports of the given directions. When none is left, the
// descriptor is removed from the epoll. It is no error if the descriptor was
// removed already, because it was closed.
func (p *epoll) Disarm(fd uintptr, which driver.Events) {
	w := p.watches.find(fd)
	if w == nil {
		return
	}
	had := w.armed()
	left := had &^ which
	switch {
	case left == had:
		return
	case len(p.relays.of) > 0 && p.relays.of[fd] != nil:
		w.set(which, nil)
		if left == 0 {
			p.endRelay(fd)
		}
		return
	case left == 0:
		p.ctl(p.a, unix.EPOLL_CTL_DEL, int(fd), 0, 0)
		p.forget(w)
		return
	}
	w.set(which, nil)
	if p.ctl(p.a, unix.EPOLL_CTL_MOD, int(fd), interest(left), w.round) == syscall.ENOENT {
		p.forget(w)
	}
}

// Forget ends the reports of fd, which is closed right after it: epoll(7) removes
// a file when its last descriptor is closed. While there is another one, in a
// child between fork and exec perhaps, events may come. They are of an earlier
// round of the number.
func (p *epoll) Forget(fd uintptr) {
	if len(p.relays.of) > 0 && p.relays.of[fd] != nil {
		p.Disarm(fd, both)
		return
	}
	if w := p.watches.find(fd); w != nil && w.armed() != 0 {
		p.forget(w)
	}
}

// forget clears a watch. Events of it that are still to come find no sink, or a later round.
func (p *epoll) forget(w *watch) {
	w.set(both, nil)
	p.watched--
}
