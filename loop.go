package rondo

// The heart of Rondo is the loop that runs tasks.
//
// A Loop has a queue of what can run, a heap of timers, and a driver that can
// sleep until something happens outside. The event loop is the function turn.
// One turn is three steps, always in this order:
//
//  1. ask the driver for events, and sleep there only if nothing can run;
//  2. make ready what timers that are due were set for;
//  3. run each task and callback that was ready when this step began, once, in
//     the order in which they became ready.
//
// What becomes ready during step 3 waits for the next turn. Two things bound how
// long sockets, timers and tasks wait for others:
//
//   - Time, not the number of steps, decides when the driver is asked by a busy
//     loop, also within step 3 (package pace; TestTimeBoundsTheDelay), and when a task
//     whose operations never wait lets others run (pays; TestTimeoutEndsWhatNeverWaits).
//   - What has started goes before what has not: at most maxUnstarted tasks that
//     have not started are in the queue, the others are behind it, and move up when a
//     turn ends. So many tasks that soon wait need few stacks
//     (TestStartedBeforeUnstarted).
//
// There is no goroutine that turns the loop. The task that suspends calls pick,
// which turns the loop on that task's stack, and hands over to what runs next
// (baton.go). Only to sleep the loop goes to one place, the goroutine of Run.
// One goroutine at a time does any of this, so there is no lock in this file, and
// there must never be one: other goroutines come in only through border.go.

import (
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/flight"
	"github.com/rondo-go/rondo/internal/inbox"
	"github.com/rondo-go/rondo/internal/prefetch"
	"github.com/rondo-go/rondo/internal/timers"
)

// A Loop runs the tasks of one Run, one at a time. It lives from the start of
// Run to its end. Its methods may be called only by its own tasks and callbacks,
// except Post, which any goroutine may call.
type Loop struct {
	name   string
	serial uint64 // which loop of the process it is
	runner Runner
	driver driver.Driver
	schedule
	sim *simulation // nil in the real world
	clock
	timers   timers.Heap[worker, Handle]
	current  *Task // the running task; nil in a callback and between tasks
	registry       // the tasks
	root     Scope // every task's outermost scope
	pool           // the workers
	border         // what comes from outside, and who is inside
	ending
	observer observer // nil if there is none
	flight   recorder // what tasks did last
	stats    Stats
}

// turn is the event loop. See the head of this file.
func (l *Loop) turn() {
	l.stats.Turns++
	l.lookAtContexts()
	if l.queue.Len() == 0 || l.inbox.Pending() {
		l.ask()
	}
	l.batch = l.queue.Len()
}

// pick returns the task to run next. It runs the callbacks that come before it,
// and turns the loop whenever a turn's batch is used up.
//
// If the loop would sleep, look at the clock or retire workers, pick returns the
// runTask, unless mayTurn says that the caller is that one: these are the deepest
// calls there are, and the stack of a task that waits for long should stay small.
func (l *Loop) pick(mayTurn bool) *Task {
	if l.observer != nil {
		l.tell(taskParked, l.current)
	}
	if !mayTurn {
		l.ran = l.current
	}
	l.current = nil
	if t := l.unplaced; t != nil && mayTurn {
		l.unplaced = nil
		return t
	}
	for {
		if l.steps >= l.pace.Look {
			if !mayTurn && l.pace.Short(l.steps) && l.runTask.state == stateWaiting {
				return l.runTask
			}
			if l.pace.IsTime(l.steps, l.charge()) && (mayTurn || l.queue.Len() > 0) {
				l.ask()
			}
		}
		if l.batch == 0 {
			if !mayTurn && l.runTask.state == stateWaiting && (l.surplus.due || l.queue.Len() == 0 && !l.inbox.Pending()) {
				return l.runTask
			}
			if mayTurn && l.surplus.due { // only the goroutine of Run may retire
				l.retireSurplus()
			}
			if l.turn(); l.batch == 0 {
				continue
			}
		}
		l.batch--
		l.steps++
		if l.postpones() {
			continue
		}
		e := l.queue.Take()
		if prefetch.Works && l.queue.Len() >= prefetchFrom {
			l.prefetch()
		}
		t := e.task
		if t != nil && t.state == stateNew {
			l.unstarted--
		}
		if l.batch == 0 && l.behind.Len() > 0 {
			l.moveUp()
		}
		if t != nil {
			return t
		}
		if h := e.call; h != nil {
			l.call(l.inLine(h))
		}
	}
}

// alone reports whether the next turn would bring nothing but what the running task
// makes ready now: nothing is, nothing has come in, and it is not time to ask the
// driver. If somebody counts the steps, each of them goes through the queue.
func (l *Loop) alone() bool {
	return l.queue.Len() == 0 && l.steps < l.pace.Look && !l.inbox.Pending() && !l.counted
}

// ask is steps 1 and 2 of a turn.
func (l *Loop) ask() {
	l.hurry()
	if !l.unwatched.Empty() {
		l.watchHolders()
	}
	until := driver.Busy
	if l.queue.Len() == 0 && !l.inbox.Pending() {
		until = l.timers.Next()
	}
	if until = l.sleepUntil(until); until == driver.Forever && !l.canBeWoken() {
		until = l.onStill()
	}
	ran := uint64(0) // since the last mark
	if until < 0 {
		l.poll(until)
		l.now = l.charge()
		l.pace.Asked(l.steps, l.now)
		was := l.now
		l.yieldCPU()
		if ran = l.ranLast(); l.now-was >= recordAway {
			l.mark(was, flight.Asleep)
			ran = 0
		}
		l.pace.Resume(l.now)
	} else {
		idle := l.charge()
		l.mark(idle, flight.Asleep)
		l.asleep = true
		l.poll(min(until, l.lookAt()))
		l.asleep = false
		l.now = l.driver.Now()
		l.yielded = l.now
		l.stats.Idle += time.Duration(l.now - idle)
		l.pace.Slept(l.steps, l.now)
	}
	most := inbox.Portion
	if l.batch > 0 {
		most = max(0, most-l.queue.Len()) // at the end of the turn there is room again
	}
	l.stats.Posts += l.inbox.Take(&l.queue, most)
	l.fire()
	l.mark(l.now, ran)
	l.lookForSurplus()
}

// ranLast returns the number of the task that ran last; 0 if that was a callback.
func (l *Loop) ranLast() uint64 {
	if l.ran == nil {
		return 0
	}
	return l.ran.id
}

// poll asks the driver. A driver that fails cannot be asked again: the loop
// ends with its error.
func (l *Loop) poll(until int64) {
	if err := l.driver.Poll(until); err != nil {
		l.fail(err)
	}
}

// fire makes ready what the timers that are due were set for.
func (l *Loop) fire() {
	for last := int64(never); l.timers.Next() <= l.now; {
		first := l.timers.First()
		if w := first.Worker; w != nil {
			w.job.wake(nil)
			continue
		}
		call := first.Call
		l.timers.Remove(1)
		call.tied = first.When == last || first.When == l.timers.Next()
		last = first.When
		l.queue.Add(entry{call: call})
	}
}

// call runs a callback. A panic in it is the program's, not that of the task on
// whose stack it happens to run.
func (l *Loop) call(h *Handle) {
	fn := h.fn
	if fn == nil {
		return
	}
	h.fn, l.ran = nil, nil
	if l.observer != nil {
		defer l.observer.observe(event{kind: callbackRan, since: l.driver.Now()})
	}
	returned := false
	defer func() {
		if v := recover(); v != nil {
			l.panicked(l.runTask, callback, v)
		} else if !returned {
			l.callbackExited()
		}
	}()
	fn()
	returned = true
}
