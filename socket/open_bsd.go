//go:build (darwin || freebsd || dragonfly) && !rondo_portable

package socket

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// open opens a non-blocking TCP socket. The lock keeps a process that is
// started at this moment from inheriting it.
func open(family int) (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	sys, err := unix.Socket(family, unix.SOCK_STREAM, unix.IPPROTO_TCP)
	if err != nil {
		return -1, err
	}
	unix.CloseOnExec(sys)
	if err := unix.SetNonblock(sys, true); err != nil {
		unix.Close(sys)
		return -1, err
	}
	return sys, nil
}
