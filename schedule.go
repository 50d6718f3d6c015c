package rondo

// This file has the queue of what can run.
//
// The law: what becomes ready is put at the end. Of tasks that have not started only
// maxUnstarted are in the queue; the others are behind it, and one moves up when one
// starts.

import (
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
	pace      pace.Pace                              // when a busy loop asks the driver
	choose    func(n int, id func(i int) uint64) int // nil: in order
	idAt      func(i int) uint64                     // the number of the task at place i
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

// ready puts t at the end of the queue.
func (l *Loop) ready(t *Task) {
	t.state = stateReady
	l.queue.Add(entry{task: t})
}

// taskID returns the number of the task at place i of the queue, or 0 for a
// callback.
func (s *schedule) taskID(i int) uint64 {
	if t := s.queue.At(i).task; t != nil {
		return t.id
	}
	return 0
}
