//go:build linux || darwin || freebsd || dragonfly

package socket

import (
	"os"

	"golang.org/x/sys/unix"
)

// mustListen fails if a socket does not listen. Otherwise only Accept would.
func mustListen(l stdListener) error {
	raw, err := l.SyscallConn()
	if err != nil {
		return err
	}
	listens := 0
	if e := raw.Control(func(sys uintptr) { listens, err = unix.GetsockoptInt(int(sys), unix.SOL_SOCKET, unix.SO_ACCEPTCONN) }); e != nil {
		return e
	}
	if err == nil && listens == 0 {
		err = unix.EINVAL
	}
	return os.NewSyscallError("accept", err)
}
