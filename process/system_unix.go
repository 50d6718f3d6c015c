//go:build unix

package process

import (
	"io"
	"os"
	"syscall"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
)

// terminate asks a process to end.
func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// read waits until there is something in the pipe, and takes it under the lock of
// the outlet. If the outlet was shut in the meantime it returns errShut.
func (o *outlet) read(p []byte) (n int, err error) {
	take := func(sys uintptr) bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.shut {
			err = errShut
			return true
		}
		// The pipe is not blocking, so this returns at once.
		for err = syscall.EINTR; err == syscall.EINTR; {
			n, err = syscall.Read(int(sys), p)
		}
		return err != syscall.EAGAIN
	}
	var failed error
	if t := o.file.Task("Read"); t != nil {
		failed = o.file.Wait(t, driver.Readable, take)
		t.Spend(max(n, 0))
	} else {
		failed = o.file.Foreign(driver.Readable, func(std fd.Std) error {
			raw, err := std.(syscall.Conn).SyscallConn()
			if err != nil {
				return err
			}
			return raw.Read(take)
		})
	}
	switch {
	case failed != nil:
		return 0, failed
	case err == errShut:
		return 0, err
	case err != nil:
		return 0, os.NewSyscallError("read", err)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// maxRest is the most that rest takes: more than a pipe holds, which is 1 MiB at most
// without a privilege (pipe(7)).
const maxRest = 16 << 20

// rest reads what is in a pipe, without waiting for more. The pipes of this process
// are not blocking. A read that does not fill its buffer has emptied the pipe. What
// comes after that, or beyond maxRest, comes from a process that the child has left
// behind and that may write without end.
func rest(f *fd.FD) (all []byte) {
	// It fails if the pipe is closed, and then there is nothing to read.
	_ = f.Control(func(sys uintptr) {
		p := make([]byte, 64<<10)
		for len(all) < maxRest {
			n, err := syscall.Read(int(sys), p)
			if err == syscall.EINTR {
				continue
			}
			if n <= 0 {
				return
			}
			if all = append(all, p[:n]...); n < len(p) {
				return
			}
		}
	})
	return all
}
