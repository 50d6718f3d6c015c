package rondo

// This file ends a loop, in the six steps that run.go names, and reports what is
// left over then.

import (
	"context"
	"fmt"
	"runtime"
	"slices"
)

// reportAlive reports, with Debug, the tasks that the end of the main task cuts
// short. Those that were cancelled already, or that a fault ends, are no
// surprise; and in a simulation it is the test that decides what is.
func (l *Loop) reportAlive() {
	if !l.runner.Debug || l.virtual || l.fault.any() || l.root.cancelled() != nil {
		return
	}
	for t := range l.tasks() {
		if t.state != stateDone && t.scope.cancelled() == nil {
			l.notice(t.info(), fmt.Errorf("rondo: a task was alive when the main task ended and is cancelled now: %w", ErrLeftBehind))
		}
	}
}

// reportUnobserved reports the errors that nobody waited for.
func (l *Loop) reportUnobserved() {
	for len(l.unobserved.list) > 0 {
		list := l.unobserved.list
		l.unobserved = unobservedErrors{}
		for _, u := range list {
			l.report(u)
		}
	}
}

// reportAbandoned reports, when all tasks have ended, the functions that still run,
// once for those that are the same one. All of them were abandoned: for the
// others tasks have waited. Those that heed their ctx get a moment to end.
func (l *Loop) reportAbandoned() {
	for range 100 {
		if len(l.offloads.abandoned) == 0 || l.inbox.pending() {
			return
		}
		runtime.Gosched()
	}
	left := l.offloads.abandoned
	l.offloads.abandoned = nil
	if l.virtual {
		return
	}
	for len(left) > 0 {
		first, n := left[0], len(left)
		left = slices.DeleteFunc(left, func(c *offloadCall) bool { return c.user == first.user })
		about := first.info(l)
		l.notice(about, fmt.Errorf("rondo: Offload of %s was abandoned, %d times: %w", about.Func, n-len(left), ErrLeftBehind))
	}
}

// finishTasks is steps 1 to 3 of a loop's end.
func (l *Loop) finishTasks() {
	l.reportAlive()
	if l.late != nil && !l.virtual {
		l.late()
	}
	for {
		l.cancelAll(context.Canceled)
		l.await(func() bool { return l.live == 0 }, &l.drained)
		l.reportUnobserved()
		// A callback that runs now may start a task, which is cancelled from the
		// start.
		l.reportAbandoned()
		if l.queue.Len() == 0 && l.inbox.close() {
			return
		}
		l.runTask.yield()
	}
}

// close is steps 4 to 6. A worker whose task called Goexit may hand it on to the
// goroutine of Run as it ends, so what stands before retireAll must bear to be done
// twice.
func (l *Loop) close() {
	if l.signals != nil {
		l.signals.Release()
	}
	l.observer = nil
	for _, stop := range l.stops {
		stop()
	}
	l.stops = nil
	l.root.end()
	l.retireAll()
	l.goroutines.Clear()
	unregister(l)
	if err := l.driver.Close(); err != nil && l.fault.err == nil {
		l.fault.err = fmt.Errorf("rondo: closing the driver: %w", err)
	}
	close(l.inbox.ended)
}

// await parks the goroutine of Run in list until done holds. It gets the baton
// also when the loop is to sleep, and does that then; see pick.
func (l *Loop) await(done func() bool, list *WaitList) {
	for !done() {
		list.push(l.runTask)
		l.runTask.worker.reason = Reason{What: "task", On: l.main.id}
		for l.runTask.state = stateWaiting; l.runTask.state == stateWaiting; {
			if s := l.leave(l.runTask); s != nil {
				s.swap()
			}
		}
		l.arrive(l.runTask)
	}
}
