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
// regular file or a directory; any other error is an *os.SyscallError. One of
// these is not in the man page: EINVAL, if the same open file, under any
// numbers, is watched more than 100 times in all loops together. The kernel
// limits the number of paths that an event may take through nested epolls, and
// here each path is three long.
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
	if had == 0 {
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
		errno = p.ctl(p.a, unix.EPOLL_CTL_MOD, int(fd), interest(want), w.round)
	}
	if errno != 0 {
		return control(errno)
	}
	if had == 0 {
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

// forget clears a watch, and makes events of it that are still to come invalid.
func (p *epoll) forget(w *watch) {
	w.set(both, nil)
	w.round++
	p.watched--
}
