//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package fd

// A stream socket that no task waits for. Its owner is called by the driver,
// and tries without waiting.

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
)

// A Stream is the only owner of a connected socket. It belongs to its loop, and
// none of its methods waits. It is small, because there may be very many.
type Stream struct {
	sys    int32
	armed  driver.Events
	slow   bool // close may block
	sole   bool // sys is the only descriptor of the open file
	prompt bool // while sole: close does not block
}

// NewStream returns a Stream of a non-blocking stream socket whose only descriptor
// is sys. prompt is as in FD.Sole.
func NewStream(sys int, prompt bool) Stream {
	return Stream{sys: int32(sys), sole: true, prompt: prompt}
}

// Detach takes the descriptor away from an FD, which is closed from then on for
// everyone who still has it. It fails, and changes nothing, if a task reads or
// writes, or if the descriptor is no socket. Only on the loop.
func (f *FD) Detach() (Stream, error) {
	if f.busy() {
		return Stream{}, errBusy
	}
	if err := f.sync(); err != nil {
		return Stream{}, err
	}
	if !f.socket {
		return Stream{}, errUnsupported
	}
	f.mu.Lock()
	f.markClosed()
	std, s := f.std(), Stream{sys: int32(f.sys), slow: f.slow, sole: f.sole, prompt: f.prompt}
	f.sys = -1
	f.stopCleanup()
	f.mu.Unlock()
	if std != nil {
		// The open file lives on, so this close neither waits nor fails in a
		// way that matters.
		_ = std.Close()
	}
	var which driver.Events
	for _, side := range []*side{&f.read, &f.write} {
		if side.armed {
			which |= side.want
		}
	}
	if which != 0 {
		f.poller().Disarm(uintptr(s.sys), which)
	}
	f.released = true
	f.read.End()
	f.write.End()
	return s, nil
}

// Receive reads available data into p. It returns ErrAgain if there is none,
// and io.EOF at the end of the stream.
func (s *Stream) Receive(p []byte) (int, error) {
	for {
		n, errno := receive(int(s.sys), p)
		switch errno {
		case 0:
			if n == 0 {
				return 0, io.EOF
			}
			return n, nil
		case syscall.EINTR:
		case syscall.EAGAIN:
			return 0, ErrAgain
		default:
			return 0, os.NewSyscallError("read", errno)
		}
	}
}

// Discard drops up to max bytes of the data that has arrived, and returns how
// many. It uses p.
func (s *Stream) Discard(p []byte, max int) (n int) {
	for n < max {
		m, err := s.Receive(p[:min(len(p), max-n)])
		if err != nil {
			return n
		}
		n += m
	}
	return n
}

// Send writes as much of p as the system takes, and returns ErrAgain if that is
// nothing.
func (s *Stream) Send(p []byte) (int, error) {
	for {
		n, errno := send(int(s.sys), p[:min(len(p), chunkMax)])
		switch errno {
		case 0:
			return n, nil
		case syscall.EINTR:
		case syscall.EAGAIN:
			return 0, ErrAgain
		default:
			return 0, os.NewSyscallError("write", errno)
		}
	}
}

// Sending reports whether something that Send took has not reached the system
// yet.
func (s *Stream) Sending() bool { return false }

// SendErr returns the error of an earlier Send.
func (s *Stream) SendErr() error { return nil }

// Arm makes the driver call sink each time that want becomes possible. If want
// is possible already, the first call of Arm makes it do so at once.
func (s *Stream) Arm(loop kernel.Loop, want driver.Events, sink driver.Sink) error {
	if s.armed&want == want {
		return nil
	}
	err := loop.Driver().Poller().Arm(uintptr(s.sys), want, sink)
	if err == nil {
		s.armed |= want
	}
	return err
}

// CloseWrite ends the sending side.
func (s *Stream) CloseWrite() error {
	return os.NewSyscallError("shutdown", unix.Shutdown(int(s.sys), unix.SHUT_WR))
}

// Stop ends the reports to the sink. It returns false if an operation has not
// ended yet; the sink is called when it has.
func (s *Stream) Stop(loop kernel.Loop) bool {
	if s.armed != 0 {
		poller := loop.Driver().Poller()
		if s.sole && !s.slow {
			poller.Forget(uintptr(s.sys))
		} else {
			poller.Disarm(uintptr(s.sys), s.armed)
		}
		s.armed = 0
	}
	return true
}

// Close closes the socket, after Stop.
func (s *Stream) Close(loop kernel.Loop) {
	sys := int(s.sys)
	s.sys = -1
	switch {
	case sys < 0:
	case s.slow:
		loop.GoFunc(func() { unix.Close(sys) })
	case s.sole && s.prompt:
		closePrompt(sys)
	default:
		unix.Close(sys)
	}
}

// Sys returns the descriptor.
func (s *Stream) Sys() int { return int(s.sys) }

// Control runs op with the descriptor.
func (s *Stream) Control(op func(sys uintptr)) error {
	if s.sys < 0 {
		return os.ErrClosed
	}
	s.sole = false
	op(uintptr(s.sys))
	return nil
}
