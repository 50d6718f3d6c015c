//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package fd

// Operations of tasks where the driver watches descriptors: system calls that
// do not block, and the driver's report of when to try again.
//
// A descriptor is registered with the driver at the first EAGAIN, in the
// direction that returned it, and stays registered. Reports are edges. Two
// things follow. No task waits before the kernel has said that there is nothing
// to do, or has shown it by returning less than was asked for (epoll(7), "for
// stream-oriented files"). And a short read is no proof once a hang-up was
// reported, because its edge may have been the last one; nor where a read ends
// before the data does: at the bounds of packets, before urgent data (tcp(7)),
// and on a Unix socket at a message that carries descriptors (unix(7)).

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
)

// chunkMax is the most that one system call is asked to move, so that one large
// buffer does not keep the other tasks waiting.
const chunkMax = 1 << 20

// Supported fails, with an error that is errors.ErrUnsupported, if the loop's
// driver has no descriptors.
func Supported(loop kernel.Loop) error {
	if _, ok := loop.Driver().(driver.Poller); !ok {
		return errUnsupported
	}
	return nil
}

// New returns an FD of a non-blocking descriptor that is a socket. The FD owns
// it from then on. std opens the connection of the standard library, with a
// descriptor of its own, when one is needed. The caller calls Guard or Close.
func New(loop kernel.Loop, sys int, std func(sys int) (Std, error)) *FD {
	f := &FD{makeStd: std, socket: true, onLoop: true}
	f.begin(loop)
	f.sys = sys
	return f
}

// Prepare makes what a task needs that waits to read. Nearly every socket has
// one, and an allocation there might make its small stack grow; see readTask.
func (f *FD) Prepare() { f.read.makeWaiter() }

// own makes sys the loop's descriptor. As in package net, it is closed when the
// FD is garbage.
func (f *FD) own(sys int) {
	f.sys = sys
	if f.guarded {
		return
	}
	f.ensureExtra().dropped = runtime.AddCleanup(f, func(sys int) { unix.Close(sys) }, sys)
}

// open opens the loop's descriptor from Std. The caller holds mu.
func (f *FD) open() error {
	sys, err := Dup(f.std())
	if err != nil {
		return err
	}
	_, err = unix.GetsockoptInt(sys, unix.SOL_SOCKET, unix.SO_TYPE)
	f.socket = err == nil
	if err := unix.SetNonblock(sys, true); err != nil {
		unix.Close(sys)
		return os.NewSyscallError("fcntl", err)
	}
	f.own(sys)
	f.onLoop = true
	return nil
}

// Dup returns a duplicate of a connection's or file's descriptor.
func Dup(std any) (int, error) {
	conn, ok := std.(syscall.Conn)
	if !ok {
		return -1, errors.New("rondo: the connection has no file descriptor")
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return -1, err
	}
	sys := -1
	if e := raw.Control(func(fd uintptr) { sys, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) }); e != nil {
		return -1, e
	}
	return sys, os.NewSyscallError("fcntl", err)
}

func (f *FD) poller() driver.Poller { return f.read.loop.Driver().(driver.Poller) }

func (f *FD) disarm() {
	var which driver.Events
	for _, s := range []*side{&f.read, &f.write} {
		if s.armed {
			which |= s.want
		}
	}
	if which == 0 {
		return
	}
	f.mu.Lock()
	forget := f.sole && !f.slow
	f.mu.Unlock()
	if forget {
		f.poller().Forget(uintptr(f.sys))
	} else {
		f.poller().Disarm(uintptr(f.sys), which)
	}
}

// closeSys closes the loop's descriptor.
func (f *FD) closeSys() {
	f.mu.Lock()
	sys, slow, prompt := f.sys, f.slow, f.sole && f.prompt
	f.sys = -1
	f.stopCleanup()
	f.mu.Unlock()
	switch {
	case sys < 0:
	case slow:
		f.read.loop.GoFunc(func() { unix.Close(sys) })
	case prompt:
		closePrompt(sys)
	default:
		// Its error says nothing about the data, and the number is free also
		// after an error: close(2).
		unix.Close(sys)
	}
}

// An interruption is what a task does to operations on Std: nothing here.
type interruption struct{}

func (interruption) isInterrupted() bool { return false }

func (interruption) interrupts() uint { return 0 }

func (interruption) wasInterrupted(uint, error) bool { return false }

// attempt calls op until it returns something else than EAGAIN, and waits in
// between. The caller holds the side.
func (s *side) attempt(t kernel.Task, what string, op func() syscall.Errno) error {
	if err := s.enter(t); err != nil {
		return err
	}
	for {
		if s.ready {
			s.reported = false
			switch errno := op(); errno {
			case 0:
				return nil
			case syscall.EINTR:
				continue
			case syscall.EAGAIN:
				s.ready = false
			default:
				return errno
			}
		}
		if err := s.await(t, what); err != nil {
			return err
		}
		if err := s.check(); err != nil {
			return err
		}
	}
}

// Ready is called by the driver.
func (s *side) Ready(ev driver.Events) {
	if s.fd.ignoreWritable && s.want == driver.Writable {
		return
	}
	if ev&(driver.HangUp|driver.Urgent) != 0 {
		s.unsure = true
	}
	s.ready = true
	s.reported = ev != driver.Urgent
	if ev != driver.Urgent || s.watch == nil {
		s.Wake()
	}
}

// await waits until the driver reports.
func (s *side) await(t kernel.Task, what string) error {
	s.prepare()
	if err := s.register(); err != nil {
		return err
	}
	return s.Park(t, kernel.Reason{What: what, On: uint64(s.fd.sys)})
}

// prepare sets the timer of the deadline before a wait. register comes next, and is not
// called here because it leads to the deepest call of a task that reads.
func (s *side) prepare() {
	if s.waiter == nil {
		s.makeWaiter()
		s.waiter.Name(s.fd.unpackPeer())
	}
	s.setTimer()
}

// unpackPeer returns the peer that a waiting task shows. It may be kept in a
// smaller form, which those who look from outside cannot read, until a task waits.
//
//go:noinline
func (f *FD) unpackPeer() any {
	if p, ok := f.peer.(interface{ Unpack() net.Addr }); ok {
		f.peer = p.Unpack()
	}
	return f.peer
}

// register asks the driver for reports, if it does not report yet.
func (s *side) register() error {
	if s.armed {
		return nil
	}
	err := s.fd.poller().Arm(uintptr(s.fd.sys), s.want, s)
	if err != nil {
		err = s.armAgain(err)
	}
	s.armed = err == nil
	return err
}

// armAgain is for a descriptor that many loops watch, which must be non-blocking.
// The mode belongs to the open file, so a process that shares it may have changed
// it.
//
//go:noinline
func (s *side) armAgain(err error) error {
	if !errors.Is(err, syscall.EINVAL) {
		return err
	}
	if unix.SetNonblock(s.fd.sys, true) != nil {
		return err
	}
	return s.fd.poller().Arm(uintptr(s.fd.sys), s.want, s)
}

// readTask is attempt and all that it calls, written out. Most connections of a
// server wait to be read, and each keeps on its stack the frames between its
// handler and the switch. Written out, they fit into the 2 KiB that a stack has
// at first; TestStackOfReader in package socket holds this.
func (f *FD) readTask(t kernel.Task, p []byte) (int, error) {
	s := &f.read
	if err := s.Take(t); err != nil {
		return 0, err
	}
	err := s.enter(t)
	if len(p) == 0 && err == os.ErrDeadlineExceeded {
		err = nil // as in package net
	}
	for err == nil && len(p) > 0 {
		if s.ready {
			s.reported = false
			n, errno := f.receive(p)
			if errno == 0 {
				return s.received(t, n, len(p))
			}
			if errno == syscall.EINTR {
				continue
			}
			if errno != syscall.EAGAIN {
				err = errno
				break
			}
			s.ready = false
		}
		s.prepare()
		if err = s.register(); err != nil {
			break
		}
		s.loop.AddWakers(1)
		err = s.waiter.ParkTask(t, kernel.Reason{What: "read", On: uint64(f.sys)})
		s.loop.AddWakers(-1)
		if err == nil {
			err = s.check()
		}
	}
	s.Release()
	t.Spend(0)
	return 0, syscallError("read", err)
}

// chunk returns how much of n bytes one system call gets. Packets are not cut.
func (f *FD) chunk(n int) int {
	if f.partial {
		return n
	}
	return min(n, chunkMax)
}

func (f *FD) receive(p []byte) (int, syscall.Errno) {
	p = p[:f.chunk(len(p))]
	if f.socket {
		return receive(f.sys, p)
	}
	return read(f.sys, p)
}

// received ends a read that returned n bytes of those it asked for.
func (s *side) received(t kernel.Task, n, asked int) (int, error) {
	if ShortIsAll && n > 0 && n < min(asked, chunkMax) && !s.unsure && !s.fd.partial {
		s.ready = false
	}
	s.Release()
	if n == 0 {
		return 0, io.EOF
	}
	t.Spend(n)
	return n, nil
}

func (f *FD) writeTask(t kernel.Task, p []byte) (n int, err error) {
	s := &f.write
	if len(p) == 0 && !f.packets {
		return 0, s.enter(t)
	}
	for {
		m := 0
		rest := p[n : n+f.chunk(len(p)-n)]
		err := s.attempt(t, "write", func() (errno syscall.Errno) {
			if f.socket {
				m, errno = send(f.sys, rest)
			} else {
				m, errno = write(f.sys, rest)
			}
			return errno
		})
		if err != nil {
			t.Spend(0)
			return n, syscallError("write", err)
		}
		n += m
		t.Spend(m)
		if n >= len(p) {
			return n, nil
		}
	}
}

// Each operation counts against the task's share of a turn, also a failed one: a
// task that tries again and again must not hold the loop.

// errnoOf returns the number of an error of package unix.
func errnoOf(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	if errno, ok := err.(syscall.Errno); ok {
		return errno
	}
	return syscall.EINVAL
}

// syscallError adds the name of the failed system call.
func syscallError(call string, err error) error {
	if errno, ok := err.(syscall.Errno); ok {
		return os.NewSyscallError(call, errno)
	}
	return err
}
