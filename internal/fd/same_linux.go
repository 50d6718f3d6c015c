//go:build linux && !rondo_portable

package fd

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// sameFile reports whether two descriptors are known to be one open file:
// kcmp(2). A container may forbid that call. Then the inode decides, for the
// kinds of files in which it is as good: a socket has an inode of its own, and
// all who read from one pipe wait for the same.
func sameFile(a, b int) bool {
	const file = 0 // KCMP_FILE
	pid := uintptr(os.Getpid())
	order, _, errno := syscall.RawSyscall6(unix.SYS_KCMP, pid, pid, file, uintptr(a), uintptr(b), 0)
	if errno == 0 {
		return order == 0
	}
	return sameInode(a, b)
}

func sameInode(a, b int) bool {
	var x, y unix.Stat_t
	if unix.Fstat(a, &x) != nil || unix.Fstat(b, &y) != nil || x.Dev != y.Dev || x.Ino != y.Ino {
		return false
	}
	switch x.Mode & unix.S_IFMT {
	case unix.S_IFSOCK:
		return true
	case unix.S_IFIFO:
		// The two ends of a pipe have one inode.
		m, err := unix.FcntlInt(uintptr(a), unix.F_GETFL, 0)
		n, err2 := unix.FcntlInt(uintptr(b), unix.F_GETFL, 0)
		return err == nil && err2 == nil && m&unix.O_ACCMODE == n&unix.O_ACCMODE
	}
	return false
}
