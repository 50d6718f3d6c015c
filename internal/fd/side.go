package fd

// A side is one direction of a connection or a pipe: who may use it, who waits,
// and until when.

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
	loop     kernel.Loop
	lock     Lock
	wakeable bool            // something outside the loop can end the wait
	hangUps  bool            // watch is called for hang-ups alone; see hangup.go
	limit    *limit          // the deadline; nil until one is set
	watch    Watcher         // is called in place of a task that waits; nil: nobody
	waiter   kernel.WaitList // the task in Park; nil until one waits
}

// A limit is the deadline of a Side.
type limit struct {
	side     *Side
	deadline int64        // 0: none
	timer    kernel.Timer // set for timerAt, which may be too early; nil: none
	timerAt  int64
	onTimer  func() // expire, bound once
}

// A Watcher is called once, on the loop, when an operation of a Side may go on:
// it must not wait.
type Watcher interface{ Ready() }

// Begin makes the Side ready for use. wakeable says that something outside the
// loop can end its waits.
func (s *Side) Begin(loop kernel.Loop, wakeable bool) {
	s.loop, s.wakeable = loop, wakeable
}

// Take waits until nobody else holds the Side. It fails only if the task's
// scope is cancelled. t is nil for a goroutine that is no task of the loop.
func (s *Side) Take(t kernel.Task) error { return s.lock.Take(s.loop, t) }

// Release hands the Side to the caller that has waited longest for it.
func (s *Side) Release() { s.lock.Release(s.loop) }

// Enter fails if the task's scope is cancelled. It is called at the start of an
// operation and not after a wait: a wait that already succeeded keeps its
// result.
func (s *Side) Enter(t kernel.Task) error {
	return t.Check()
}

// Check fails if the deadline has passed.
func (s *Side) Check() error {
	if l := s.limit; l != nil && l.deadline != 0 && l.deadline <= s.loop.Now() {
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
	s.addWakers(1)
	err := s.waiter.ParkTask(t, why)
	s.addWakers(-1)
	return err
}

// makeWaiter makes the list of the waiting task, if there is none. The sending
// side of an idle connection never needs one.
func (s *Side) makeWaiter() {
	if s.waiter == nil {
		s.waiter = s.loop.WaitList()
	}
}

func (s *Side) addWakers(n int) {
	if s.wakeable {
		s.loop.AddWakers(n)
	}
}

// Watch makes w be called in place of a task in Park, at the first Wake. The
// caller has seen that an operation would wait, and need not hold the Side.
func (s *Side) Watch(w Watcher) {
	s.watch = w
	s.setTimer()
	s.addWakers(1)
}

// Unwatch undoes Watch, if the Watcher has not been called.
func (s *Side) Unwatch() {
	if s.watch != nil {
		s.watch = nil
		s.addWakers(-1)
	}
}

// Wake ends the wait in Park, if there is one, and the watch.
func (s *Side) Wake() {
	if s.waiter != nil {
		s.waiter.Wake()
	}
	if w := s.watch; w != nil && !s.hangUps {
		s.watch = nil
		s.addWakers(-1)
		w.Ready()
	}
}

// waiting reports whether a task is in Park, or a Watcher is to be called.
func (s *Side) waiting() bool {
	return s.watch != nil && !s.hangUps || s.waiter != nil && s.waiter.Len() > 0
}

// SetDeadline sets the time after which Check fails; the zero time means none.
// One that has passed ends the wait in Park.
func (s *Side) SetDeadline(t time.Time) {
	if s.limit == nil {
		if t.IsZero() {
			return
		}
		s.limit = &limit{side: s}
	}
	l := s.limit
	l.deadline = s.instant(t)
	if l.deadline == 0 || !s.waiting() {
		return
	}
	if l.deadline == passed {
		s.Wake()
		return
	}
	l.setTimer()
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

// setTimer prepares a wait: it sets the timer of the deadline.
func (s *Side) setTimer() {
	if s.limit != nil {
		s.limit.setTimer()
	}
}

// setTimer makes sure that a timer fires no later than the deadline. A timer
// that would fire too early is kept: it is set again when it fires. So moving
// the deadline at each operation costs nothing.
func (l *limit) setTimer() {
	if l.deadline == 0 || l.timer != nil && l.timerAt <= l.deadline {
		return
	}
	if l.timer != nil {
		l.timer.Cancel()
	}
	if l.onTimer == nil {
		l.onTimer = l.expire
	}
	l.timerAt = l.deadline
	l.timer = l.side.loop.CallAt(l.deadline, l.onTimer)
}

func (l *limit) expire() {
	l.timer = nil
	if !l.side.waiting() || l.deadline == 0 {
		return
	}
	if l.deadline <= l.side.loop.Now() {
		l.side.Wake()
		return
	}
	l.setTimer()
}

// End wakes the waiting task, which finds the connection closed.
func (s *Side) End() {
	s.Wake()
	if l := s.limit; l != nil && l.timer != nil {
		l.timer.Cancel()
		l.timer = nil
	}
}
