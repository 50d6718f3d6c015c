package rondo

// This file has the queue of what can run.
//
// The law: what becomes ready is put at the end. Of tasks that have not started only
// maxUnstarted are in the queue; the others are behind it, and one moves up when one starts.

import (
	"slices"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/pace"
	"github.com/rondo-go/rondo/internal/ring"
)

// schedule is what is ready to run, in the order in which it became ready.
type schedule struct {
	queue     ring.Ring[entry]
	behind    ring.Ring[*Task]                       // tasks that have not started, beyond those in the queue
	unstarted int                                    // tasks that have not started in the queue
	batch     int                                    // how many of the queue this turn still runs
	steps     uint64                                 // tasks and callbacks run so far
	ran       *Task                                  // whose step was the last; nil if it was a callback
	pace      pace.Pace                              // when a busy loop asks the driver
	choose    func(n int, id func(i int) uint64) int // nil: in order
	idAt      func(i int) uint64                     // the number of the task at place i
	delayed   []*Handle                              // what is put off until a time
}

// An entry of the queue is a task or a callback, or nothing any more.
type entry struct {
	task *Task
	call *Handle
}

// maxUnstarted is how many tasks that have not started are in the queue at most.
const maxUnstarted = 64

// enqueue puts t, which has not started, into the queue, or behind it.
func (l *Loop) enqueue(t *Task) {
	if l.unstarted == maxUnstarted {
		l.behind.Add(t)
		return
	}
	l.unstarted++
	l.queue.Add(entry{task: t})
}

// moveUp is called when a task is taken from the queue that has not started.
func (l *Loop) moveUp() {
	if l.behind.Len() > 0 {
		l.queue.Add(entry{task: l.behind.Take()})
		l.behind.Release()
	} else {
		l.unstarted--
	}
}

// ready puts t at the end of the queue, or past the queue if that is empty and the
// running task ends; see finish.
func (l *Loop) ready(t *Task) {
	t.state = stateReady
	if l.pass {
		l.pass, l.nextTask = false, t
		l.steps++
		return
	}
	l.queue.Add(entry{task: t})
}

// chooses lets the driver choose what comes first in the queue, and reports whether that
// runs now. If not, it is put at the end, at once or when the driver says.
func (l *Loop) chooses() bool {
	i := l.choose(l.batch+1, l.idAt)
	l.queue.Swap(0, max(i, ^i))
	if i >= 0 {
		return true
	}
	e := l.queue.Take()
	if at := l.driver.(driver.Late).Until(); at > l.now && l.helpers == 0 {
		l.delayed = slices.DeleteFunc(l.delayed, func(h *Handle) bool { return h.fn == nil })
		l.delayed = append(l.delayed, l.callAt(at, func() { l.queue.Add(e) }))
	} else {
		l.queue.Add(e)
	}
	return false
}

// hurry makes ready what is put off until a time, if goroutines work for the loop, because
// that time does not come while they do, or if the driver is late no more.
func (l *Loop) hurry() {
	if len(l.delayed) == 0 || l.helpers == 0 && !l.driver.(driver.Late).Punctual() {
		return
	}
	for _, h := range l.delayed {
		if fn := h.fn; h.Cancel() {
			fn()
		}
	}
	l.delayed = l.delayed[:0]
}

// open reports whether the loop takes what goroutines hand in. In a simulation it does
// when nothing else can run: the moment at which they come is no part of a schedule
// that can be replayed, unless the loop waits for them or the driver chooses it too.
func (l *Loop) open() bool {
	return !l.virtual || l.queue.Len() == 0 || l.live == 0 || driver.Prompt(l.driver)
}

// refused says to a simulation that a wait failed at once, with err, and returns err. A
// task that goes on all the same would keep the loop for ever.
func (l *Loop) refused(err error) error {
	if d, ok := l.driver.(driver.Refuser); ok {
		d.Refused()
	}
	return err
}

// taskID returns the number of the task at place i of the queue. For a callback it is 0,
// or driver.Line.
func (s *schedule) taskID(i int) uint64 {
	switch e := s.queue.At(i); {
	case e.task != nil:
		return e.task.id
	case e.call != nil && e.call.lined:
		return driver.Line
	}
	return 0
}
