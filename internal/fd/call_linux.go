//go:build linux && !race && !rondo_portable

package fd

// The four system calls that move data. None of them blocks, so the scheduler
// is not told of them: that saves some 50 ns a call. On sockets the flag
// MSG_DONTWAIT makes sure of that, whatever mode the descriptor is in: the mode
// is shared with every duplicate, and old versions of os.File.Fd switch it to
// blocking.

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func receive(sys int, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(sys),
		uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), unix.MSG_DONTWAIT, 0, 0)
	return int(n), errno
}

func send(sys int, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(sys),
		uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	return int(n), errno
}

func read(sys int, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(unix.SYS_READ, uintptr(sys),
		uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), errno
}

func write(sys int, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(unix.SYS_WRITE, uintptr(sys),
		uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), errno
}
