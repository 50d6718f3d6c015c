//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package fd

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/kernel"
)

// OfFile returns an FD of a file that supports non-blocking operations, such as
// a pipe. It closes the file: the loop has one descriptor of it, and Std is
// opened when another goroutine needs it.
func OfFile(loop kernel.Loop, file *os.File) (*FD, error) {
	defer file.Close()
	sys, err := Dup(file)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(sys, true); err != nil {
		unix.Close(sys)
		return nil, os.NewSyscallError("fcntl", err)
	}
	label := file.Name()
	f := &FD{onLoop: true, makeStd: func(sys int) (Std, error) {
		other, err := unix.FcntlInt(uintptr(sys), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return nil, os.NewSyscallError("fcntl", err)
		}
		return os.NewFile(uintptr(other), label), nil
	}}
	f.begin(loop)
	f.own(sys)
	return f, nil
}
