package rondo

// The schedule is the run queue of a loop.
//
// The law: a task or callback that becomes ready is put at the end of the queue. A task that
// yields is behind what the driver reports when it is asked next, if nothing else has become
// ready until then. Of the tasks that have not started, at most maxUnstarted are in the queue.
// The others are kept in a second queue behind it, and move up when a turn ends.

import (
	"github.com/rondo-go/rondo/internal/pace"
	"github.com/rondo-go/rondo/internal/ring"
)

// schedule holds the ready tasks and callbacks, in the order in which they became ready.
type schedule struct {
	queue     ring.Ring[entry]
	behind    ring.Ring[*Task] // tasks that have not started, beyond those in the queue
	unstarted int              // number of tasks in queue that have not started
	batch     int              // number of entries at the front of queue that this turn still runs
	steps     uint64           // number of tasks and callbacks run so far
	ran       *Task            // the task that ran in the last step; nil if that ran a callback
	gaveWay   *Task            // the task that yielded last, until the driver is asked
	pace      pace.Pace        // decides when a busy loop asks the driver
	counted   bool             // an observer or the driver counts the steps; see alone
}

// An entry of the queue is a task or a callback. It is empty if its task was withdrawn from the
// queue; see markUnwinding.
type entry struct {
	task *Task
	call *Handle
}

// maxUnstarted is the largest number of tasks in the queue that have not started.
const maxUnstarted = 64

// enqueue puts the new task t into the queue, or behind it if maxUnstarted is reached.
func (l *Loop) enqueue(t *Task) {
	if l.unstarted == maxUnstarted || l.behind.Len() > 0 {
		l.behind.Add(t)
		return
	}
	l.unstarted++
	l.queue.Add(entry{task: t})
}

// moveUp moves tasks from behind the queue into it, until maxUnstarted is reached. It is called
// once a turn, when the last step of the turn begins. So tasks that move up together stay
// neighbours, a turn visits their records in the order in which they were allocated, and the
// queue is never empty while there are tasks behind it.
func (l *Loop) moveUp() {
	for l.unstarted < maxUnstarted && l.behind.Len() > 0 {
		l.unstarted++
		l.queue.Add(entry{task: l.behind.Take()})
	}
	l.behind.Release()
}

// putBack puts t, which yields, at the end of the queue.
func (l *Loop) putBack(t *Task) {
	l.ready(t)
	l.gaveWay = t
}

// moveBack is called when the driver was asked, and n entries were in the queue before. If the
// last of them is the task that has just yielded, those that came in go before it: what has
// waited for its step does not wait for the next one too. They run in the next turn. A task is
// moved once for each time that it yields.
func (l *Loop) moveBack(n int) {
	t := l.gaveWay
	l.gaveWay = nil
	if t != nil && n > 0 && n < l.queue.Len() && l.queue.At(n-1).task == t {
		l.queue.MoveToEnd(n - 1)
		if l.batch == n {
			l.batch-- // t was the last of this turn
		}
	}
}

// ready puts t at the end of the queue. If l.pass is set, t becomes l.nextTask instead, which
// runs as soon as the running task has ended; see finish.
func (l *Loop) ready(t *Task) {
	t.state = stateReady
	if l.pass {
		l.pass, l.nextTask = false, t
		l.steps++
		return
	}
	l.queue.Add(entry{task: t})
}
