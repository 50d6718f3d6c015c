package rondo

// A loop is in deadlock when nothing can run, no timer is set, and nothing can wake it.
//
// The law: a program is never ended on a guess. On the real driver any goroutine may
// hold a Scope, a Task or a ctx, and cancel it, so the loop cannot be certain: after
// a second it says so, once, with every task and where it waits, and goes on
// waiting; with Runner.EndDeadlock it ends. A simulated loop is certain, and ends.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rondo-go/rondo/internal/report"
)

// deadlockAfter is how long a deadlock lasts before a loop without EndDeadlock reports it.
const deadlockAfter = int64(time.Second)

// keptWithin is how long a loop that ends by EndDeadlock waits for those that keep its flight
// record.
const keptWithin = 5 * time.Second

// A stillness is a time in which nothing happens in a loop. The zero value has not begun.
type stillness struct {
	since    int64  // the clock when it began
	steps    uint64 // the loop's count of steps then; a larger count ends the stillness
	reported bool   // long has returned true
}

// long reports whether limit has passed without a step of the loop. It reports each stillness
// once. If it returns false, until is the time at which to ask again.
func (s *stillness) long(now int64, steps uint64, limit int64) (long bool, until int64) {
	if s.since == 0 || s.steps != steps {
		*s = stillness{since: now, steps: steps}
	}
	switch {
	case s.reported:
		return false, never
	case now-s.since < limit:
		return false, s.since + min(limit, never-s.since)
	}
	s.reported = true
	return true, never
}

// nothingCanWake is called before the loop sleeps, when nothing known can wake it. It returns
// the time until which the loop may sleep, which has passed if tasks are ready now.
func (l *Loop) nothingCanWake() (until int64) {
	switch {
	case errors.Is(l.fault.err, ErrDeadlock), l.sim != nil && !l.sim.Awaits():
		l.deadlock()
		return -1
	case l.sim != nil:
		return never
	}
	limit, ends := int64(l.runner.EndDeadlock), l.runner.EndDeadlock > 0
	if !ends {
		limit = deadlockAfter
	}
	long, until := l.still.long(l.driver.Now(), l.steps, limit)
	switch {
	case !long:
		return until
	case ends:
		// Afterwards the loop is gone, and its flight record with it.
		report.Trouble("deadlock", keptWithin)
		l.deadlock()
		return -1
	}
	report.Trouble("deadlock", 0)
	report.Log(slog.LevelWarn, "rondo: nothing can run, and nothing known can wake the loop; set Runner.EndDeadlock to end it then",
		"loop", l.name, "tasks", l.describeWaits())
	return never
}

// deadlock ends a loop in which nothing can ever run again. Cancellation ends the waits;
// those behind a Shield are cancelled too if they are all that is left.
func (l *Loop) deadlock() {
	if !l.fault.any() {
		l.fail(l.deadlockError())
		return // if that has ended no wait, the loop is in deadlock again
	}
	c := &cancellation{err: context.Canceled, cause: ErrDeadlock, origin: &l.root}
	for t := range l.tasks() {
		if t.state == stateWaiting && t.worker.under != nil {
			t.worker.under.cancel(c)
		}
	}
	if l.queue.Len() == 0 {
		panic("rondo: internal: no task can run and none can be cancelled; please report this\n" + l.deadlockError().Error())
	}
}

// deadlockError is ErrDeadlock with every task, what it waits for, and where.
func (l *Loop) deadlockError() error {
	return fmt.Errorf("%w: nothing can run and nothing can come from outside:%s", ErrDeadlock, l.describeWaits())
}
