//go:build !rondo_portable

package socket

import "golang.org/x/sys/unix"

// open opens a non-blocking TCP socket.
func open(family int) (int, error) {
	return unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
}
