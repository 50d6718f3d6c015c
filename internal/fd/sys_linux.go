//go:build linux && !rondo_portable

package fd

// System calls about whole sockets. Those of package unix ask the kernel for
// the protocol of each address too, which is a system call more.
//
// Where a call does not block, the scheduler is not told of it. If it is told, and
// the call takes 20 µs, which closing a connection may, the runtime takes the
// processor away from the loop, and the loop has to get it back: with one processor
// that doubled the cost of the call.

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// accept returns the next connection as a non-blocking descriptor: accept4(2).
// The mode of a shared listener may be changed by those who have a duplicate. Then
// the call may block, so the scheduler is told of it.
func accept(sys int, shared bool) (int, Peer, syscall.Errno) {
	var sa unix.RawSockaddrAny
	size := uint32(unix.SizeofSockaddrAny)
	call := syscall.RawSyscall6
	if shared {
		call = syscall.Syscall6
	}
	conn, _, errno := call(unix.SYS_ACCEPT4, uintptr(sys), uintptr(unsafe.Pointer(&sa)),
		uintptr(unsafe.Pointer(&size)), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
	if errno != 0 {
		return -1, Peer{}, errno
	}
	return int(conn), peerOf(&sa, size), 0
}

// closePrompt is close(2) of a descriptor that is known not to block.
func closePrompt(sys int) { _, _, _ = syscall.RawSyscall(unix.SYS_CLOSE, uintptr(sys), 0, 0) }

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
