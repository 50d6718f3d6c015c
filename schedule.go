package rondo

// The schedule is the queue of what can run.
//
// The law: what becomes ready is put at the end. Of tasks that have not started only
// maxUnstarted are in the queue; the others are behind it, and move up when a turn ends.

import (
	"github.com/rondo-go/rondo/internal/pace"
	"github.com/rondo-go/rondo/internal/ring"
)

// schedule is what is ready to run, in the order in which it became ready.
type schedule struct {
	queue     ring.Ring[entry]
	behind    ring.Ring[*Task] // tasks that have not started, beyond those in the queue
	unstarted int              // tasks that have not started in the queue
	batch     int              // how many of the queue this turn still runs
	steps     uint64           // tasks and callbacks run so far
	ran       *Task            // whose step was the last; nil if it was a callback
	pace      pace.Pace        // when a busy loop asks the driver
	counted   bool             // somebody counts the steps
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
	if l.unstarted == maxUnstarted || l.behind.Len() > 0 {
		l.behind.Add(t)
		return
	}
	l.unstarted++
	l.queue.Add(entry{task: t})
}

// moveUp puts tasks that have not started into the queue, as many as it may hold. It is called
// when the last step of a turn begins: tasks that move up together stay neighbours, so that a
// turn visits their records in the order in which they were made, and while there are tasks
// behind the queue it is never empty.
func (l *Loop) moveUp() {
	for l.unstarted < maxUnstarted && l.behind.Len() > 0 {
		l.unstarted++
		l.queue.Add(entry{task: l.behind.Take()})
	}
	l.behind.Release()
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
