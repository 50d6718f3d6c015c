//go:build unix

package process

import (
	"os"
	"syscall"

	"github.com/rondo-go/rondo/internal/fd"
)

// terminate asks a process to end.
func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// rest reads what is in a pipe, without waiting for more. Pipes of this process
// do not block.
func rest(f *fd.FD) (all []byte) {
	// It fails if the pipe is closed, and then there is nothing.
	_ = f.Control(func(sys uintptr) {
		p := make([]byte, 64<<10)
		for {
			n, err := syscall.Read(int(sys), p)
			if err == syscall.EINTR {
				continue
			}
			if n <= 0 {
				return
			}
			all = append(all, p[:n]...)
		}
	})
	return all
}
