package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// handleOf makes a descriptor of the process for the loop, because the standard
// library closes its own when it has waited. It is a pidfd, which is readable when
// the process has ended (pidfd_open(2)).
func handleOf(p *os.Process) (int, error) {
	own := -1
	var err error
	if e := p.WithHandle(func(h uintptr) { own, err = unix.FcntlInt(h, unix.F_DUPFD_CLOEXEC, 0) }); e != nil {
		return -1, e
	}
	return own, os.NewSyscallError("fcntl", err)
}

func closeHandle(h int) { unix.Close(h) }
