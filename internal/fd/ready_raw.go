//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package fd

// Readiness of descriptors that belong to the program: for one task that waits,
// or for a callback.

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
	"github.com/rondo-go/rondo/internal/stdctx"
)

// A readyWait is one task's wait for such a descriptor.
type readyWait struct {
	user
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
	v.sink = v
	if err := v.join(loop, which, sys); err != nil {
		return err
	}
	defer v.leave(true)
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

// A watch calls fn in each turn in which an operation on the descriptor would
// not block. The driver reports the first such turn; after each call poll(2)
// says whether it is still so.
type watch struct {
	loop   kernel.Loop
	fn     func()
	user               // not registered if the file never blocks
	due    bool        // a call of fn is posted
	ended  atomic.Bool // the watch has ended
	unbind func() bool // stops the scope's callback
}

// Watch starts a watch. The caller is on the loop.
func Watch(ctx context.Context, loop kernel.Loop, which driver.Events, sys uintptr, fn func()) (stop func(), err error) {
	if err := Supported(loop); err != nil {
		return nil, err
	}
	after := stdctx.AfterDone(ctx, ctx.Done(), loop.GoFunc)
	w := &watch{loop: loop, fn: fn}
	w.sink = w
	err = w.join(loop, which, sys)
	if err != nil && !errors.Is(err, syscall.EPERM) {
		return nil, err
	}
	if w.stillReady() {
		w.Ready(which) // only the first user of a registration gets this report
	}
	loop.AddWakers(1)
	w.unbind = after(w.stop)
	return w.stop, nil
}

func (w *watch) Ready(ev driver.Events) {
	if ev != driver.Urgent && !w.due && !w.loop.Refuses() {
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
	if w.stillReady() {
		w.Ready(driver.Readable | driver.Writable)
	}
}

// stillReady reports whether an operation would not block. A file that never
// blocks is always ready.
func (w *watch) stillReady() bool {
	if w.of == nil {
		return true
	}
	now, _ := pollNow(uintptr(w.of.own), w.of.which)
	return now
}

// stop ends the watch. Any goroutine may call it.
func (w *watch) stop() {
	if w.ended.Swap(true) {
		return
	}
	end := func() {
		w.unbind()
		w.loop.AddWakers(-1)
		w.leave(true)
	}
	if w.loop.Inside() {
		end()
	} else if w.loop.Post(end) != nil {
		w.leave(false) // the driver has ended with the loop
	}
}
