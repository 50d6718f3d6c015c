//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package fd

// Readiness of descriptors that belong to the program. The driver has one sink
// for each direction of a number, and the number may have one already. So a
// duplicate is watched, and closed afterwards.

import (
	"context"
	"errors"
	"math"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
)

// A readyWait is one task's wait for such a descriptor.
type readyWait struct {
	ready bool
	list  kernel.WaitList
}

func (v *readyWait) Ready(ev driver.Events) {
	if ev == driver.Urgent {
		return
	}
	v.ready = true
	v.list.Wake()
}

// Ready waits until an operation on the descriptor would not block. The caller
// is a task.
func Ready(ctx context.Context, loop kernel.Loop, which driver.Events, sys uintptr) error {
	if err := Supported(loop); err != nil {
		return err
	}
	if now, err := pollNow(sys, which); now || err != nil {
		if err == nil {
			loop.Task().Spend(0)
		}
		return err
	}
	v := &readyWait{list: loop.WaitList()}
	own, err := armDup(loop, which, sys, v)
	if err != nil {
		return err
	}
	defer disarmDup(loop, own, which)
	loop.AddWakers(1)
	defer loop.AddWakers(-1)
	for !v.ready {
		what := "read"
		if which == driver.Writable {
			what = "write"
		}
		if err := v.list.Park(ctx, kernel.Reason{What: what, On: uint64(sys)}); err != nil {
			return err
		}
	}
	return nil
}

// pollNow reports whether an operation would not block: poll(2).
func pollNow(sys uintptr, which driver.Events) (bool, error) {
	if sys > math.MaxInt32 {
		return false, os.NewSyscallError("poll", unix.EBADF)
	}
	p := []unix.PollFd{{Fd: int32(sys), Events: unix.POLLIN}}
	if which == driver.Writable {
		p[0].Events = unix.POLLOUT
	}
	for {
		_, err := unix.Poll(p, 0)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return false, os.NewSyscallError("poll", err)
		case p[0].Revents&unix.POLLNVAL != 0:
			return false, os.NewSyscallError("poll", unix.EBADF)
		}
		return p[0].Revents != 0, nil
	}
}

// armDup arms s for a duplicate of sys, and returns the duplicate.
func armDup(loop kernel.Loop, which driver.Events, sys uintptr, s driver.Sink) (int, error) {
	if sys > math.MaxInt32 {
		return -1, os.NewSyscallError("fcntl", unix.EBADF) // the kernel would cut the number
	}
	own, err := unix.FcntlInt(sys, unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("fcntl", err)
	}
	if err := loop.Driver().(driver.Poller).Arm(uintptr(own), which, s); err != nil {
		unix.Close(own)
		return -1, err
	}
	return own, nil
}

func disarmDup(loop kernel.Loop, own int, which driver.Events) {
	loop.Driver().(driver.Poller).Disarm(uintptr(own), which)
	unix.Close(own)
}

// A watch calls fn in each turn in which an operation on the descriptor would
// not block. The driver reports the first such turn; after each call poll(2)
// says whether it is still so.
type watch struct {
	loop   kernel.Loop
	fn     func()
	which  driver.Events
	own    int         // the duplicate; -1 if the file never blocks
	due    bool        // a call of fn is posted
	ended  atomic.Bool // the watch has ended
	unbind func() bool // stops the scope's callback
}

// Watch starts a watch. The caller is on the loop.
func Watch(ctx context.Context, loop kernel.Loop, which driver.Events, sys uintptr, fn func()) (stop func(), err error) {
	if err := Supported(loop); err != nil {
		return nil, err
	}
	w := &watch{loop: loop, fn: fn, which: which}
	w.own, err = armDup(loop, which, sys, w)
	if errors.Is(err, syscall.EPERM) {
		w.own, err = -1, nil
		w.Ready(which)
	}
	if err != nil {
		return nil, err
	}
	loop.AddWakers(1)
	w.unbind = context.AfterFunc(ctx, w.stop)
	return w.stop, nil
}

func (w *watch) Ready(ev driver.Events) {
	if ev != driver.Urgent && !w.due {
		w.due = true
		// The loop is running: this is its own goroutine.
		_ = w.loop.Post(w.call)
	}
}

func (w *watch) call() {
	w.due = false
	if w.ended.Load() {
		return
	}
	w.fn()
	if w.ended.Load() {
		return
	}
	again := w.own < 0
	if !again {
		again, _ = pollNow(uintptr(w.own), w.which)
	}
	if again {
		w.Ready(w.which)
	}
}

// stop ends the watch. Any goroutine may call it.
func (w *watch) stop() {
	if w.ended.Swap(true) {
		return
	}
	end := func() {
		w.unbind()
		w.loop.AddWakers(-1)
		if w.own >= 0 {
			disarmDup(w.loop, w.own, w.which)
		}
	}
	if w.loop.Inside() {
		end()
	} else if w.loop.Post(end) != nil && w.own >= 0 {
		unix.Close(w.own) // the driver has ended with the loop
	}
}
