//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package fd

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/kernel"
)

// OfFile makes an FD of a file that never blocks for a regular reason only: a
// pipe or the like. The file is the FD's from here on. The loop has one
// descriptor of it; the other face is made when a foreign goroutine needs one.
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
	f := &FD{looped: true, makeFace: func(sys int) (Face, error) {
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
