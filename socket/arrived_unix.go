//go:build unix

package socket

import "golang.org/x/sys/unix"

// hasArrived asks the system whether a connection waits to be accepted.
func hasArrived(l stdListener) (arrived bool) {
	raw, err := l.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(sys uintptr) {
		asked := []unix.PollFd{{Fd: int32(sys), Events: unix.POLLIN}}
		n, err := unix.Poll(asked, 0)
		for err == unix.EINTR {
			n, err = unix.Poll(asked, 0)
		}
		arrived = n == 1
	})
	return arrived
}
