package httptask

// A task reads and writes a connection that was taken over, sends a request, or reads
// the body of its answer, on a goroutine of its own. Each call may last as long as
// the peer likes, so they are not counted as Offload's are.

import (
	"context"

	"github.com/rondo-go/rondo/internal/kernel"
)

// away calls fn on a goroutine and suspends the task t until fn has returned. If the
// task is cancelled first, away calls interrupt, which makes fn return soon, waits on,
// and returns the cause if fn fails. A task that is cancelled already does not call fn.
func away(loop kernel.Loop, t kernel.Task, what string, fn func() error, interrupt func()) error {
	if err := t.Check(); err != nil {
		return err
	}
	failure := errUnreturned
	c := &call{loop: loop, list: loop.WaitList(), fn: func() { failure = fn() }}
	loop.GoFunc(func() {
		defer c.returned() // also after a Goexit
		c.run()
	})
	if err := c.wait(t, what, interrupt); err != nil && failure != nil {
		return err
	}
	return failure
}

// awayToEnd is away for what no cancellation keeps from being done.
func awayToEnd(loop kernel.Loop, t kernel.Task, what string, fn func() error) (err error) {
	_ = t.Shield(func(context.Context) error {
		err = away(loop, loop.Task(), what, fn, func() {})
		return nil
	})
	return err
}

// taskOf returns the calling task of the loop, or nil if the caller is another
// goroutine.
func taskOf(loop kernel.Loop, what string) kernel.Task {
	if !loop.Inside() {
		return nil
	}
	t := loop.Task()
	if t == nil {
		panic("rondo: httptask: " + what + " is used in a callback: callbacks must not wait; start a task with Go")
	}
	return t
}
