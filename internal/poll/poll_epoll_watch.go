//go:build linux && !rondo_portable

package poll

// Registering descriptors with epoll: edge-triggered, and no more of it than
// is asked for. A direction is registered at its first Arm and stays so; the
// kernel then reports each further edge unasked.

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/driver"
)

// interest gives the bits of epoll_ctl(2) for the directions.
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

// Arm asks for news of fd for s. It makes a system call only if one of the
// directions was not armed or had another sink. In that case the kernel looks
// at the descriptor anew, so that s hears of what an earlier sink was told.
//
// It returns syscall.EPERM for a descriptor that never blocks, as of a regular
// file or a directory, and else an *os.SyscallError. One of these is not in the
// man page: EINVAL, if the same open file, under whatever numbers, is watched
// more than 100 times in all loops together. The kernel limits the paths an
// event may take through epolls in a row, and here each is three long.
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
		// Make no room for a number that is no descriptor's.
		if _, err := unix.FcntlInt(fd, unix.F_GETFD, 0); err != nil {
			return os.NewSyscallError("fcntl", err)
		}
		w = p.watches.at(fd)
	}
	if w.holds(want, s) {
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
		// The descriptor was closed without Disarm and its number given to
		// another. What was armed is of the dead one.
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

// Disarm ends the reports of the directions given. When none is left, the
// descriptor is taken out of the epoll. It is no error if that has happened
// already, by closing it.
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

// forget empties a watch and makes what events it has left to come void.
func (p *epoll) forget(w *watch) {
	w.set(both, nil)
	w.round++
	p.watched--
}
