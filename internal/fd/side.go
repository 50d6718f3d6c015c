package fd

// This file has what is the same for every direction of every connection, a
// pipe's included: who may, who waits, and until when.

import (
	"context"
	"os"
	"time"

	"github.com/rondo-go/rondo/internal/kernel"
)

// A Side is one direction of a connection, as the loop's tasks have it. One
// task at a time has it, from Take to Release, and that one alone ever waits in
// Park. So whatever concerns all who want to read, a deadline or the close, is
// told to that one, and when it gives the Side away the next finds out by
// itself. A Side may be used only on its loop, except that Take and Release may
// be called, with a nil Task, by any goroutine.
type Side struct {
	loop    kernel.Loop
	lock    Lock
	waiter  kernel.WaitList // the task in Park
	outside int             // 1 if the wait can be ended from outside the loop

	deadline int64        // 0: none
	alarm    kernel.Timer // set for alarmAt, which may be too early; nil: none
	alarmAt  int64
	onTimer  func() // s.expire, bound once
}

// Begin makes the Side ready for use. Outside tells whether something outside
// the loop can end its waits.
func (s *Side) Begin(loop kernel.Loop, outside bool) {
	s.loop, s.waiter = loop, loop.WaitList()
	s.lock.Begin(loop)
	if outside {
		s.outside = 1
	}
}

// Take waits until nobody else has the Side. It fails only if the task's scope
// is cancelled; t is nil for a goroutine that is no task of the loop.
func (s *Side) Take(t kernel.Task) error { return s.lock.Take(t) }

// Release gives the Side to whoever has waited longest for it.
func (s *Side) Release() { s.lock.Release() }

// Enter fails if the task's scope is cancelled. It is asked at the start of an
// operation and not after a wait: one that was ended by what it waited for has
// its result, whatever has happened since.
func (s *Side) Enter(t kernel.Task) error {
	if scope := t.Scope(); scope.Err() != nil {
		return context.Cause(scope)
	}
	return nil
}

// Check fails if the deadline has passed.
func (s *Side) Check() error {
	if s.deadline != 0 && s.deadline <= s.loop.Now() {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// Park suspends the task, which has the Side, until Wake, or until something
// has changed that Check will see. It fails only if the task's scope is
// cancelled.
func (s *Side) Park(t kernel.Task, why kernel.Reason) error {
	s.setAlarm()
	s.loop.Hold(s.outside)
	err := s.waiter.Park(t.Scope(), why)
	s.loop.Hold(-s.outside)
	return err
}

// Wake ends the wait in Park, if there is one.
func (s *Side) Wake() { s.waiter.Wake() }

// waiting reports whether a task is in Park.
func (s *Side) waiting() bool { return s.waiter.Len() > 0 }

// SetDeadline sets the time after which Check fails; zero means none. One that
// has passed ends the wait in Park.
func (s *Side) SetDeadline(t time.Time) {
	s.deadline = s.instant(t)
	if s.deadline == 0 || !s.waiting() {
		return
	}
	if s.deadline == passed {
		s.Wake()
		return
	}
	s.setAlarm()
}

// passed is the instant of a deadline that has passed. The loop looks at its
// clock only once in a while, and must not take it for one to come.
const passed int64 = 1

// instant gives a deadline as the loop's clock counts it.
func (s *Side) instant(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	d := s.loop.Driver()
	if at := d.Instant(t); at > d.Now() {
		return at
	}
	return passed
}

// setAlarm sees to it that a timer comes no later than the deadline. One that
// is set already, and would come too early, is left: it is set anew when it
// comes. So a deadline that is pushed on at each operation costs nothing.
func (s *Side) setAlarm() {
	if s.deadline == 0 || s.alarm != nil && s.alarmAt <= s.deadline {
		return
	}
	if s.alarm != nil {
		s.alarm.Cancel()
	}
	if s.onTimer == nil {
		s.onTimer = s.expire
	}
	s.alarmAt = s.deadline
	s.alarm = s.loop.CallAt(s.deadline, s.onTimer)
}

func (s *Side) expire() {
	s.alarm = nil
	if !s.waiting() || s.deadline == 0 {
		return
	}
	if s.deadline <= s.loop.Now() {
		s.Wake()
		return
	}
	s.setAlarm()
}

// End wakes who waits, to find the connection closed.
func (s *Side) End() {
	s.Wake()
	if s.alarm != nil {
		s.alarm.Cancel()
		s.alarm = nil
	}
}
