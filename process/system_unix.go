//go:build unix

package process

import (
	"os"
	"syscall"

	"github.com/rondo-go/rondo/internal/fd"
)

// terminate asks a process to end.
func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// restMax is the most that rest takes: more than a pipe holds, which is 1 MiB at most
// without a privilege (pipe(7)).
const restMax = 16 << 20

// rest reads what is in a pipe, without waiting for more. Pipes of this process
// do not block. A read that does not fill its buffer has emptied the pipe; what
// comes after that, or beyond restMax, is of a process that the child has left
// behind, which may write without end.
func rest(f *fd.FD) (all []byte) {
	// It fails if the pipe is closed, and then there is nothing.
	_ = f.Control(func(sys uintptr) {
		p := make([]byte, 64<<10)
		for len(all) < restMax {
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
