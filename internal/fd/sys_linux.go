//go:build linux && !rondo_portable

package fd

// System calls about whole sockets. Those of package unix ask the kernel for
// the protocol of each address too, which is a system call more.

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// accept returns the next connection as a non-blocking descriptor: accept4(2).
// The listener's mode is shared with its duplicates, so the call may block, and
// the scheduler is told of it.
func accept(sys int) (int, Peer, syscall.Errno) {
	var sa unix.RawSockaddrAny
	size := uint32(unix.SizeofSockaddrAny)
	conn, _, errno := syscall.Syscall6(unix.SYS_ACCEPT4, uintptr(sys), uintptr(unsafe.Pointer(&sa)),
		uintptr(unsafe.Pointer(&size)), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
	if errno != 0 {
		return -1, Peer{}, errno
	}
	return int(conn), peerOf(&sa, size), 0
}

// LocalPeer returns the address of this end of a socket, if it is still
// connected: getsockname(2).
func LocalPeer(sys int) Peer {
	var sa unix.RawSockaddrAny
	size := uint32(unix.SizeofSockaddrAny)
	if _, _, errno := syscall.RawSyscall(unix.SYS_GETSOCKNAME, uintptr(sys),
		uintptr(unsafe.Pointer(&sa)), uintptr(unsafe.Pointer(&size))); errno != 0 {
		return Peer{}
	}
	return peerOf(&sa, size)
}
