//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package fd

// A connection that no task reads, where the driver watches descriptors.

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/driver"
)

func (f *FD) watchSys(w Watcher) (ready bool) { return f.watchNow(w) }

// hasInput asks the kernel whether a read of the socket would not wait. Nothing else is watched.
func (f *FD) hasInput() bool {
	if v := f.Virtual(); v != nil {
		return v.Ready(driver.Readable)
	}
	var b [1]byte
	for {
		_, _, err := unix.Recvfrom(f.sys, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		if err != syscall.EINTR {
			return err != syscall.EAGAIN
		}
	}
}

// watchesDescriptors says that the driver watches descriptors.
const watchesDescriptors = true

// Unwatches reports whether FD.Unwatch works for descriptors.
const Unwatches = watchesDescriptors

// atEnd reports whether a read would return the end of the stream or an error.
func (f *FD) atEnd() bool {
	var b [1]byte
	for {
		n, _, err := unix.Recvfrom(f.sys, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		if err != syscall.EINTR {
			return err == nil && n == 0 || err != nil && err != syscall.EAGAIN
		}
	}
}
