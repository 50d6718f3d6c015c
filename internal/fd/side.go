package fd

// This file has what is the same for every direction of every connection, also
// of a pipe: who may use it, who waits, and until when.

import (
	"os"
	"time"

	"github.com/rondo-go/rondo/internal/kernel"
)

// A Side is one direction of a connection, for the tasks of a loop. One task at
// a time holds it, from Take to Release, and only that task ever waits in Park.
// So a deadline or a close wakes only that task; the next one finds out by
// itself when it gets the Side. A Side may be used only on its loop, except
// that any goroutine may call Take and Release, with a nil Task.
type Side struct {
	loop   kernel.Loop
	lock   Lock
	waiter kernel.WaitList // the task in Park; nil until one waits
	wakers int             // 1 if something outside the loop can end the wait

	deadline int64        // 0: none
	timer    kernel.Timer // set for timerAt, which may be too early; nil: none
	timerAt  int64
	onTimer  func() // s.expire, bound once
}

// Begin makes the Side ready for use. wakeable says that something outside the
// loop can end its waits.
func (s *Side) Begin(loop kernel.Loop, wakeable bool) {
	s.loop = loop
	s.lock.Begin(loop)
	if wakeable {
		s.wakers = 1
	}
}

// Take waits until nobody else holds the Side. It fails only if the task's
// scope is cancelled. t is nil for a goroutine that is no task of the loop.
func (s *Side) Take(t kernel.Task) error { return s.lock.Take(t) }

// Release hands the Side to the caller that has waited longest for it.
func (s *Side) Release() { s.lock.Release() }

// Enter fails if the task's scope is cancelled. It is called at the start of an
// operation and not after a wait: a wait that already succeeded keeps its
// result.
func (s *Side) Enter(t kernel.Task) error {
	return t.Check()
}

// Check fails if the deadline has passed.
func (s *Side) Check() error {
	if s.deadline != 0 && s.deadline <= s.loop.Now() {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// Park suspends the task, which holds the Side, until Wake is called or
// something has changed that Check reports. It fails only if the task's scope
// is cancelled.
func (s *Side) Park(t kernel.Task, why kernel.Reason) error {
	s.makeWaiter()
	s.setTimer()
	s.loop.AddWakers(s.wakers)
	err := s.waiter.ParkTask(t, why)
	s.loop.AddWakers(-s.wakers)
	return err
}

// makeWaiter makes the list of the waiting task, if there is none. The sending
// side of an idle connection never needs one.
func (s *Side) makeWaiter() {
	if s.waiter == nil {
		s.waiter = s.loop.WaitList()
	}
}

// Wake ends the wait in Park, if there is one.
func (s *Side) Wake() {
	if s.waiter != nil {
		s.waiter.Wake()
	}
}

// waiting reports whether a task is in Park.
func (s *Side) waiting() bool { return s.waiter != nil && s.waiter.Len() > 0 }

// SetDeadline sets the time after which Check fails; the zero time means none.
// One that has passed ends the wait in Park.
func (s *Side) SetDeadline(t time.Time) {
	s.deadline = s.instant(t)
	if s.deadline == 0 || !s.waiting() {
		return
	}
	if s.deadline == passed {
		s.Wake()
		return
	}
	s.setTimer()
}

// passed is the instant of a deadline that has passed. The loop reads its clock
// only now and then, and must not take such a deadline for a future one.
const passed int64 = 1

// instant returns a deadline as an instant of the loop's clock.
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

// setTimer makes sure that a timer fires no later than the deadline. A timer
// that would fire too early is kept: it is set again when it fires. So moving
// the deadline at each operation costs nothing.
func (s *Side) setTimer() {
	if s.deadline == 0 || s.timer != nil && s.timerAt <= s.deadline {
		return
	}
	if s.timer != nil {
		s.timer.Cancel()
	}
	if s.onTimer == nil {
		s.onTimer = s.expire
	}
	s.timerAt = s.deadline
	s.timer = s.loop.CallAt(s.deadline, s.onTimer)
}

func (s *Side) expire() {
	s.timer = nil
	if !s.waiting() || s.deadline == 0 {
		return
	}
	if s.deadline <= s.loop.Now() {
		s.Wake()
		return
	}
	s.setTimer()
}

// End wakes the waiting task, which finds the connection closed.
func (s *Side) End() {
	s.Wake()
	if s.timer != nil {
		s.timer.Cancel()
		s.timer = nil
	}
}
