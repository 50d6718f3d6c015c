//go:build unix && (rondo_portable || !(linux || darwin || freebsd || dragonfly))

package fd

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// probe returns a function for RawConn.Read, which calls it until it returns
// true: when a read would not wait.
func probe() func(sys uintptr) bool {
	return func(sys uintptr) bool {
		var b [1]byte
		for {
			_, _, err := unix.Recvfrom(int(sys), b[:], unix.MSG_PEEK)
			if err != syscall.EINTR {
				return err != syscall.EAGAIN
			}
		}
	}
}
