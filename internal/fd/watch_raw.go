//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package fd

// A connection that no task reads: its owner is called when there is something
// to read.

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/driver"
)

// WatchInput makes w be called, once, as soon as a Read would not wait: there is
// data, the stream has ended, the deadline has passed, or the FD is closed. If
// that is so already it returns true, and w is not called. Only on the loop.
func (f *FD) WatchInput(w Watcher) (ready bool) {
	s := &f.read
	if s.check() != nil {
		return true
	}
	switch {
	case !s.armed:
		// The driver reports what is there already.
		if s.register() != nil {
			return true // Read returns the error
		}
	case s.reported || s.ready && f.hasInput():
		return true
	}
	s.ready = false
	s.Watch(w)
	return false
}

// hasInput asks the kernel whether a read would not wait.
func (f *FD) hasInput() bool {
	if !f.socket {
		now, err := pollNow(uintptr(f.sys), driver.Readable)
		return now || err != nil
	}
	var b [1]byte
	for {
		_, _, err := unix.Recvfrom(f.sys, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		if err != syscall.EINTR {
			return err != syscall.EAGAIN
		}
	}
}
