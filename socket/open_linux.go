//go:build !rondo_portable

package socket

import "golang.org/x/sys/unix"

// open makes a TCP socket that does not block.
func open(family int) (int, error) {
	return unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
}
