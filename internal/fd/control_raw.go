//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package fd

// The descriptor is shown to functions of the program, which may
// duplicate it. A descriptor that nobody has seen is the only one of its open
// file, and needs no farewell from the driver when it is closed.

import (
	"net"
	"runtime"
	"syscall"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
)

// Sole says that the loop's descriptor is the only one of the open file, and
// whether it is certain that there is no linger time. Both hold until the
// descriptor is shown to anyone. It is called before the FD is used.
func (f *FD) Sole(prompt bool) { f.sole, f.prompt = true, prompt }

// expose returns the loop's descriptor for a function of the program, which may
// duplicate it.
func (f *FD) expose() uintptr {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sole = false
	return uintptr(f.sys)
}

// Wait calls op with the descriptor until op reports that it is done. It calls
// op again each time the direction may have become possible. Only tasks may
// call it.
func (f *FD) Wait(t kernel.Task, which driver.Events, op func(sys uintptr) bool) error {
	s, what := f.side(which), "read"
	if which == driver.Writable {
		what = "write"
	}
	if f.Virtual() != nil {
		return errForeign
	}
	if err := s.Take(t); err != nil {
		return err
	}
	defer s.Release()
	// What op reads is unknown, so a short read proves nothing.
	s.ready = true
	return s.attempt(t, what, func() syscall.Errno {
		if op(f.expose()) {
			return 0
		}
		return syscall.EAGAIN
	})
}

// Control runs op with a descriptor that stays open during the call, unless op
// itself closes the FD.
func (f *FD) Control(op func(sys uintptr)) error {
	f.mu.Lock()
	sys, std, closed := f.sys, f.std(), f.closed
	f.sole = false
	f.mu.Unlock()
	if closed {
		return net.ErrClosed
	}
	// The descriptor is closed on the loop only, so it stays open during this
	// call.
	if sys >= 0 && f.read.loop.Inside() {
		op(uintptr(sys))
		runtime.KeepAlive(f)
		return nil
	}
	if std == nil {
		var err error
		if std, err = f.Std(); err != nil {
			return err
		}
	}
	raw, err := rawOf(std)
	if err != nil {
		return err
	}
	return raw.Control(op)
}
