//go:build linux && !rondo_portable

package fd

// Data that moves from one descriptor to another inside the kernel: sendfile(2)
// from a file, splice(2) from a socket through a pipe.

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/kernel"
)

// BulkMax is the most that one call of SendFile, Fill or Drain moves: a task's
// share of a turn.
const BulkMax = 256 << 10

// NotSupported reports whether err says that the kernel cannot do this with
// these descriptors, and that nothing was moved.
func NotSupported(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSYS) ||
		errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.EPERM)
}

// SendFile sends up to max bytes of a file from its current position, and
// advances the position by what was sent. 0 means the end of the file. Only
// tasks may call it.
func (f *FD) SendFile(t kernel.Task, file syscall.RawConn, max int) (n int, err error) {
	s := &f.write
	if err := s.Take(t); err != nil {
		return 0, err
	}
	var closed error
	err = s.attempt(t, "write", func() syscall.Errno {
		var err error
		closed = file.Control(func(from uintptr) { n, err = unix.Sendfile(f.sys, int(from), nil, min(max, BulkMax)) })
		return errnoOf(err)
	})
	s.Release()
	switch {
	case closed != nil:
		n, err = 0, closed // the file was closed
	case err != nil:
		n, err = 0, syscallError("sendfile", err)
	}
	t.Spend(n)
	return n, err
}

// A Tube is a pipe between two sockets. Its owner closes it.
type Tube struct {
	r, w int
	held int // bytes that are in it
}

// NewTube opens a Tube, of BulkMax bytes if possible.
func NewTube() (*Tube, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return nil, os.NewSyscallError("pipe2", err)
	}
	// The pipes of a user have a common limit; beyond it the size stays as it
	// is.
	_, _ = unix.FcntlInt(uintptr(p[1]), unix.F_SETPIPE_SZ, BulkMax)
	return &Tube{r: p[0], w: p[1]}, nil
}

// Close closes the Tube. Data in it is lost.
func (p *Tube) Close() {
	unix.Close(p.r)
	unix.Close(p.w)
}

// Fill waits for data and moves up to most bytes of it into the Tube, which must
// be empty: then EAGAIN means that the socket has no data. 0 means the end of
// the stream. Only tasks may call it.
func (f *FD) Fill(t kernel.Task, p *Tube, most int) (int, error) {
	s := &f.read
	if err := s.Take(t); err != nil {
		return 0, err
	}
	err := s.attempt(t, "read", func() syscall.Errno {
		n, err := unix.Splice(f.sys, nil, p.w, nil, min(most, BulkMax), unix.SPLICE_F_MOVE|unix.SPLICE_F_NONBLOCK)
		p.held = max(int(n), 0)
		return errnoOf(err)
	})
	s.Release()
	if err != nil {
		return 0, syscallError("splice", err)
	}
	return p.held, nil
}

// Drain moves everything in the Tube to the socket, and waits whenever the
// socket does not take it. Like a Write, it is not mixed with others. Only
// tasks may call it.
func (f *FD) Drain(t kernel.Task, p *Tube) (n int, err error) {
	s := &f.write
	if err := s.Take(t); err != nil {
		return 0, err
	}
	for p.held > 0 && err == nil {
		m := 0
		err = s.attempt(t, "write", func() syscall.Errno {
			n, err := unix.Splice(p.r, nil, f.sys, nil, p.held, unix.SPLICE_F_MOVE|unix.SPLICE_F_NONBLOCK)
			m = int(n)
			return errnoOf(err)
		})
		if err == nil {
			p.held -= m
			n += m
		}
	}
	s.Release()
	t.Spend(n)
	return n, syscallError("splice", err)
}
