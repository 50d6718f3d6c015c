//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package fd

// The system's side of an FD where the driver watches descriptors: descriptors that do
// not block, which the FD opens, registers and closes.

import (
	"errors"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
)

// Supported fails, with an error that is errors.ErrUnsupported, if the loop's
// driver has no descriptors.
func Supported(loop kernel.Loop) error {
	if loop.Driver().Poller() == nil {
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

func (f *FD) poller() driver.Poller { return f.read.loop.Driver().Poller() }

func (f *FD) disarm() {
	var which driver.Events
	for _, s := range []*side{&f.read, &f.write} {
		if s.armed {
			which |= s.want
		}
	}
	if which == 0 || f.disarmVirtual(which) {
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
		f.closeVirtual()
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

// register asks the driver for reports, if it does not report yet.
func (s *side) register() error {
	if s.armed {
		return nil
	}
	if v := s.fd.Virtual(); v != nil {
		v.Arm(s.want, s)
		s.armed = true
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

func (f *FD) readTask(t kernel.Task, p []byte) (int, error)  { return f.readNow(t, p) }
func (f *FD) writeTask(t kernel.Task, p []byte) (int, error) { return f.writeNow(t, p) }

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

// An interruption is what a task does to operations on Std: nothing here.
type interruption struct{}

func (interruption) isInterrupted() bool { return false }

func (interruption) interrupts() uint { return 0 }

func (interruption) wasInterrupted(uint, error) bool { return false }

// endOfReads returns err: the system ends reads itself.
func (*FD) endOfReads(_ int, err error) error { return err }
