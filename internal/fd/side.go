package fd

// This file has what is the same for reading and for writing: who may, who
// waits, and until when.

import (
	"context"
	"net"
	"os"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
)

// A side is one direction of an FD, as the loop's tasks have it. One task at a
// time holds lock; it alone is ever in waiters. So whatever concerns all who
// want to read, a deadline or the close, is told to that one, and when it gives
// the lock away the next finds out by itself.
//
// Ready means that the next system call may have something to do. It is lost
// when the kernel says EAGAIN, or when a read took less than it asked for, and
// it comes back with the driver's next report.
type side struct {
	fd      *FD
	want    driver.Events
	lock    lock
	waiters rondo.WaitList
	ready   bool
	armed   bool
	hangUp  bool // the end of the stream may come without a report of its own

	deadline int64        // 0: none
	alarm    kernel.Timer // set for alarmAt, which may be too early; nil: none
	alarmAt  int64
	ring     func() // s.expire, bound once

	loan // of the other face; see portable.go
}

func (s *side) begin(f *FD, want driver.Events) {
	s.fd, s.want, s.ready = f, want, true
	s.lock.loop = f.loop
}

// check fails if the side's operation must not be tried.
func (s *side) check(t kernel.Task) error {
	f := s.fd
	if f.news.Load() {
		if err := f.refresh(); err != nil {
			return err
		}
	}
	if f.gone {
		return net.ErrClosed
	}
	if s.deadline != 0 && s.deadline <= f.loop.Now() {
		return os.ErrDeadlineExceeded
	}
	if scope := t.Scope(); scope.Err() != nil {
		return context.Cause(scope)
	}
	return nil
}

// park suspends the task until the side is ready, or something has changed that
// check will see. It fails only if the task's scope is cancelled.
func (s *side) park(t kernel.Task, what string) error {
	loop := s.fd.loop
	s.setAlarm()
	loop.Hold(1)
	err := s.waiters.Park(t.Scope(), rondo.Reason{What: what, On: uint64(s.fd.sys)})
	loop.Hold(-1)
	return err
}

// Ready hears from the driver.
func (s *side) Ready(ev driver.Events) {
	s.ready = true
	if ev&driver.HangUp != 0 {
		s.hangUp = true
	}
	s.waiters.Wake()
}

// move sets the deadline. One that has passed ends the wait at once.
func (s *side) move(at int64) {
	s.deadline = at
	if at == 0 || s.waiters.Len() == 0 {
		return
	}
	if at <= s.fd.loop.Now() {
		s.waiters.Wake()
		return
	}
	s.setAlarm()
}

// setAlarm sees to it that a timer comes no later than the deadline. One that
// is set already, and would come too early, is left: it is set anew when it
// comes. So a deadline that is pushed on at each operation costs nothing.
func (s *side) setAlarm() {
	if s.deadline == 0 || s.alarm != nil && s.alarmAt <= s.deadline {
		return
	}
	if s.alarm != nil {
		s.alarm.Cancel()
	}
	if s.ring == nil {
		s.ring = s.expire
	}
	s.alarmAt = s.deadline
	s.alarm = s.fd.loop.CallAt(s.deadline, s.ring)
}

func (s *side) expire() {
	s.alarm = nil
	if s.waiters.Len() == 0 || s.deadline == 0 {
		return
	}
	if s.deadline <= s.fd.loop.Now() {
		s.waiters.Wake()
		return
	}
	s.setAlarm()
}

// end wakes who waits, to find the FD closed.
func (s *side) end() {
	s.waiters.Wake()
	if s.alarm != nil {
		s.alarm.Cancel()
		s.alarm = nil
	}
}
