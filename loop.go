package rondo

// The heart of Rondo is the loop that runs tasks.
//
// A Loop has a run queue of tasks and callbacks, a heap of timers, and a driver that
// can sleep until something happens outside. One iteration of the event loop is called
// a turn. It has three steps, always in this order:
//
//  1. ask the driver for events, and sleep in it only if nothing is ready;
//  2. wake each task, and queue each callback, whose timer is due;
//  3. run each task and callback that was ready when this step began, once, in
//     the order in which they became ready. A task that has just yielded is behind those
//     that steps 1 and 2 have made ready (moveBack; TestYieldGoesBehindEvents).
//
// Function turn is steps 1 and 2, and fixes the number of entries that step 3 runs;
// function pick is step 3. Whatever becomes ready during step 3 waits for the next turn.
// A turn skips steps 1 and 2 if something is ready and no other goroutine has posted. In
// their place two rules bound how long sockets, timers and tasks wait for others:
//
//   - A busy loop does steps 1 and 2 when it has run for pace.After, 100 µs, or for pace.Every
//     steps, whichever comes first, even in the middle of step 3 (TestTimeBoundsTheDelay).
//     And a task whose operations never wait lets others run when the loop has run for
//     pace.After (pays; TestTimeoutEndsWhatNeverWaits).
//   - Tasks that have started go before tasks that have not: at most maxUnstarted new
//     tasks are in the queue. The others are kept behind it and move up when a turn ends.
//     So tasks that wait only briefly end before many others start, and few stacks are in
//     use at once (TestStartedBeforeUnstarted).
//
// No goroutine is dedicated to the loop. A task that suspends calls pick, which turns
// the loop on that task's stack, and hands control to the task that runs next (baton.go).
// The loop goes to the goroutine of Run only to sleep, to read the clock, to make workers
// and to retire them. One goroutine at a time does any of this, so there is no lock in this
// file, and there must never be one: other goroutines come in only through border.go.

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
	serial uint64 // number of the loop in the process
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
	border         // the inbox of other goroutines, and the set of goroutines on the loop
	ending
	observer observer // nil if there is none
	flight   recorder // the flight recorder: the last steps of the tasks
	stats    Stats
}

// turn begins a turn: it asks the driver if nothing is ready or something has come in, and
// fixes which entries of the queue belong to the turn. See the head of this file.
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
// mayTurn says that the caller is l.runTask, the task of the goroutine of Run. If it is
// false and the loop is about to sleep, to retire workers, or to read the clock after few
// steps, pick returns l.runTask, which then does so: these calls are the deepest of all, and
// would grow the stack of a task that may wait for long. If l.runTask is not waiting, the
// caller does all but retire workers.
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

// alone reports whether the queue may be bypassed: the queue and the inbox are empty, and it
// is not time to ask the driver. Then a task that yields goes on at once (Yield), and the first
// task that an ending task wakes runs next (finish). If l.counted, each step must go through the
// queue, and alone returns false.
func (l *Loop) alone() bool {
	return l.queue.Len() == 0 && l.steps < l.pace.Look && !l.inbox.Pending() && !l.counted
}

// ask is steps 1 and 2 of a turn: it asks the driver, takes what other goroutines have
// posted, and fires the timers.
func (l *Loop) ask() {
	before := l.queue.Len()
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
	ran := uint64(0) // the task that ran since the last mark; 0: none, or a callback
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
		if until = min(until, l.lookAt()); l.helpersPost() {
			until = driver.Busy
		}
		l.poll(until)
		l.asleep = false
		l.now = l.driver.Now()
		l.yielded = l.now
		l.stats.Idle += time.Duration(l.now - idle)
		l.pace.Slept(l.steps, l.now)
	}
	most := inbox.Portion
	if l.batch > 0 {
		most = max(0, most-l.queue.Len()) // the rest is taken after this turn
	}
	l.stats.Posts += l.inbox.Take(l.takePosted, most)
	l.fire()
	l.moveBack(before)
	l.mark(l.now, ran)
	l.lookForSurplus()
}

// ranLast returns the number of the task whose step was the last, or 0 if the last step was
// a callback.
func (l *Loop) ranLast() uint64 {
	if l.ran == nil {
		return 0
	}
	return l.ran.id
}

// poll asks the driver for events. If the driver fails, the loop ends with its error.
func (l *Loop) poll(until int64) {
	if err := l.driver.Poll(until); err != nil {
		l.fail(err)
	}
}

// fire wakes each task, and queues each callback, whose timer is due.
func (l *Loop) fire() {
	for l.timers.Next() <= l.now {
		first := l.timers.First()
		if w := first.Worker; w != nil {
			w.job.wake(nil)
			continue
		}
		call := first.Call
		l.timers.Remove(1)
		call.tied = first.When == l.timers.Next()
		l.queue.Add(entry{call: call})
	}
}

// call runs a callback. If it panics, the panic ends the loop and is not blamed on the
// task on whose stack the callback happens to run.
func (l *Loop) call(h *Handle) {
	fn := h.fn
	if fn == nil {
		return
	}
	h.fn, l.ran = nil, nil
	if h.reused && len(l.unused) < inbox.Portion {
		l.unused = append(l.unused, h)
	}
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
