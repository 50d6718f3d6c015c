package process

// The start of a child, and the watch for its end.

import (
	"context"
	"os/exec"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/report"
)

// An exit is the end of a child: what the loop watches for it, and how it ended. If
// the driver watches descriptors and the system has one for a process, the loop
// watches that. Otherwise a goroutine waits.
type exit struct {
	loop   kernel.Loop
	std    *exec.Cmd
	handle int // the loop's own descriptor of the process, -1: none
	gone   bool
	err    error // what the goroutine's Wait returned
	list   rondo.WaitList
}

// start starts the child on a goroutine, because a start takes a millisecond or two.
// It does not use Offload, which may have to wait for a free goroutine. A start that
// has begun cannot be given up, so no cancellation may reach ctx. If a callback's
// Goexit unwinds the task meanwhile, the child that comes of it is killed.
func (e *exit) start(ctx context.Context) error {
	var (
		list           rondo.WaitList
		err            error
		done, returned bool
	)
	e.loop.AddWakers(1)
	e.loop.AddHelpers(1)
	defer e.loop.AddWakers(-1)
	defer e.loop.AddHelpers(-1)
	e.loop.GoFunc(func() {
		err = e.std.Start()
		// The child's task waits, so the loop has not ended.
		_ = e.loop.Post(func() { done = true; list.Wake() })
	})
	wait := func() {
		for !done {
			if cause := list.Park(ctx, rondo.Reason{What: "process start"}); cause != nil {
				panic("rondo: internal: the start of a process was given up; please report this: " + report.Text(cause))
			}
		}
	}
	defer func() {
		if returned {
			return
		}
		if wait(); err == nil {
			_ = e.std.Process.Kill()
			e.loop.GoFunc(func() { _ = e.std.Wait() })
		}
	}()
	wait()
	returned = true
	return err
}

// watch begins to watch for the end of a child that was started.
func (e *exit) watch() {
	e.handle = -1
	if poller := e.loop.Driver().Poller(); poller != nil {
		if h, err := handleOf(e.std.Process); err == nil {
			if poller.Arm(uintptr(h), driver.Readable, e) == nil {
				e.handle = h
				return
			}
			closeHandle(h)
		}
	}
	e.loop.GoFunc(func() {
		err := e.std.Wait()
		// The child's task lives until this has come, so the loop has not ended.
		_ = e.loop.Post(func() {
			e.err = err
			e.Ready(driver.Readable)
		})
	})
}

// Ready is called when the child has ended.
func (e *exit) Ready(driver.Events) {
	e.gone = true
	e.list.WakeAll()
}

// wait waits for the end of the child. If the child has ended already, wait returns
// nil even if ctx is cancelled.
func (e *exit) wait(ctx context.Context) error {
	for !e.gone {
		e.loop.AddWakers(1)
		err := e.list.Park(ctx, rondo.Reason{What: "process", On: uint64(e.std.Process.Pid)})
		e.loop.AddWakers(-1)
		if err != nil {
			return err
		}
	}
	return nil
}

// reap takes the status of a child that has ended. It does not block, because the
// descriptor of the process is readable (pidfd_open(2)).
func (e *exit) reap() error {
	if e.handle < 0 {
		return e.err
	}
	e.drop()
	return e.std.Wait()
}

// drop stops watching.
func (e *exit) drop() {
	if e.handle >= 0 {
		e.loop.Driver().Poller().Disarm(uintptr(e.handle), driver.Readable)
		closeHandle(e.handle)
		e.handle = -1
	}
}

// abandon kills a child that nobody waits for. A goroutine reaps it.
func (e *exit) abandon() {
	// It fails if the child has ended already.
	_ = e.std.Process.Kill()
	if e.handle >= 0 {
		e.drop()
		e.loop.GoFunc(func() { _ = e.std.Wait() })
	}
}
