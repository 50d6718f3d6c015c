//go:build linux && !rondo_portable

package fd

import (
	"golang.org/x/sys/unix"
)

// accept returns the next connection as a non-blocking descriptor: accept4(2).
func accept(sys int) (int, unix.Sockaddr, error) {
	return unix.Accept4(sys, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
}
