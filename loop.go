package rondo

// This file is the heart of Rondo: the loop that runs tasks.
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
// What becomes ready during step 3 waits for the next turn. So tasks that keep
// waking each other cannot hold up a socket or a timer for more than a turn
// (TestTurnIsBounded).
//
// There is no goroutine that turns the loop. The task that suspends calls pick,
// which turns the loop on that task's stack, and hands over to what runs next
// (baton.go). Only to sleep the loop goes to one place, the goroutine of Run.
// One goroutine at a time does any of this, so there is no lock in this file, and
// there must never be one: other goroutines come in only through inbox.go.

import (
	"context"
	"runtime"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/ring"
)

// askEvery is how many steps a busy loop runs between two questions to the
// driver. A question costs a system call and a look at the clock, some 300 ns;
// a step may be as short as 5 ns.
const askEvery = 64

// yieldEvery is how long a busy loop keeps its processor while other
// goroutines work for it: with one processor they would wait for the runtime's
// preemption otherwise, 10 ms or more.
const yieldEvery = 50 * time.Microsecond

// A Loop runs the tasks of one Run, one at a time. It lives from the start of
// Run to its end. Its methods may be called only by its own tasks and callbacks,
// except Post, which any goroutine may call.
type Loop struct {
	name   string
	serial uint64 // which loop of the process it is
	runner Runner
	driver driver.Driver
	schedule
	clock
	timers   timers
	current  *Task // the running task; nil in a callback and between tasks
	registry       // the tasks
	root     Scope // every task's outermost scope
	pool           // the workers
	border         // what comes from outside, and who is inside
	ending
	observer observer // nil if there is none
	stats    Stats
}

// schedule is what is ready to run, in the order in which it became ready.
type schedule struct {
	queue  ring.Ring[entry]
	batch  int                                    // how many of the queue this turn still runs
	steps  uint64                                 // tasks and callbacks run so far
	asked  uint64                                 // steps when the driver was asked last
	choose func(n int, id func(i int) uint64) int // nil: in order
	idAt   func(i int) uint64                     // the number of the task at place i
}

// An entry of the queue is a task or a callback, or nothing any more.
type entry struct {
	task *Task
	call *Handle
}

// turn is the event loop. See the head of this file.
func (l *Loop) turn() {
	l.stats.Turns++
	if l.contexts != nil {
		l.pollContexts()
	}
	if l.queue.Len() == 0 || l.steps-l.asked >= askEvery || l.inbox.pending() && l.open() {
		l.ask()
	}
	l.batch = l.queue.Len()
}

// pick returns the task to run next. It runs the callbacks that come before it,
// and turns the loop whenever a turn's batch is used up.
//
// If the loop would sleep, or has workers to retire, pick returns the runTask, unless mayTurn says that the
// caller is that one: to sleep takes the deepest calls there are, and the stack of
// a task that waits for long should stay small.
func (l *Loop) pick(mayTurn bool) *Task {
	if l.observer != nil {
		l.observer.observe(event{kind: taskParked, task: l.current})
	}
	l.current = nil
	for {
		for l.batch > 0 {
			l.batch--
			l.steps++
			if l.choose != nil && l.batch > 0 && l.live > 0 {
				// When the last task has ended, the world decides what comes in when.
				l.first(l.choose(l.batch+1, l.idAt))
			}
			e := l.queue.Take()
			if l.observer != nil {
				l.observer.observe(event{kind: stepBegins, task: e.task})
			}
			if e.task != nil {
				return e.task
			}
			if e.call != nil {
				l.call(e.call)
			}
		}
		if !mayTurn && (l.due || l.queue.Len() == 0 && !l.inbox.pending()) {
			return l.runTask
		}
		if l.due {
			l.retireSurplus()
		}
		l.turn()
	}
}

// ask is steps 1 and 2 of a turn.
func (l *Loop) ask() {
	l.asked = l.steps
	until := int64(-1)
	if l.queue.Len() == 0 && !l.inbox.pending() {
		until = l.timers.next()
		switch {
		case l.virtual && l.helpers > 0:
			// Time that is simulated must not pass while work that is real goes on.
			until = driver.Forever
		case until == driver.Forever && !l.canBeWoken():
			l.deadlock()
			return
		}
	}
	if until < 0 {
		l.poll(until)
		l.now = l.driver.Now()
		l.yieldCPU()
	} else {
		idle := l.driver.Now()
		if l.observer != nil {
			l.observer.observe(event{kind: loopSleeps})
		}
		l.poll(min(until, l.lookAt()))
		l.now = l.driver.Now()
		l.yielded = l.now
		l.stats.Idle += time.Duration(l.now - idle)
		if l.observer != nil {
			l.observer.observe(event{kind: loopWakes})
		}
	}
	if l.open() {
		l.stats.Posts += l.inbox.empty(&l.queue)
	}
	l.fire()
	l.lookForSurplus()
}

// open reports whether the loop takes what comes in. In a simulation it does when
// nothing else can run: the moment at which others come is no part of a schedule
// that can be replayed, unless the loop waits for them.
func (l *Loop) open() bool { return !l.virtual || l.queue.Len() == 0 || l.live == 0 }

// poll asks the driver. A driver that fails cannot be asked again: the loop
// ends with its error.
func (l *Loop) poll(until int64) {
	if err := l.driver.Poll(until); err != nil {
		l.fail(err)
	}
}

// fire makes ready what the timers that are due were set for.
func (l *Loop) fire() {
	for l.timers.next() <= l.now {
		first := l.timers.first()
		if w := first.worker; w != nil {
			w.job.wake(nil)
			continue
		}
		call := first.call
		l.timers.remove(0)
		l.queue.Add(entry{call: call})
	}
}

// yieldCPU gives the processor to other goroutines for a moment if some of them
// work for this loop and it has been busy for a while.
func (l *Loop) yieldCPU() {
	if l.helpers > 0 && l.now-l.yielded >= int64(yieldEvery) {
		runtime.Gosched()
		l.now = l.driver.Now()
		l.yielded = l.now
	}
}

// call runs a callback. A panic in it is the program's, not that of the task on
// whose stack it happens to run.
func (l *Loop) call(h *Handle) {
	fn := h.fn
	if fn == nil {
		return
	}
	h.fn = nil
	if l.observer != nil {
		defer l.observer.observe(event{kind: callbackRan, since: l.driver.Now()})
	}
	returned := false
	defer func() {
		if v := recover(); v != nil {
			l.panicked(callback, v)
		} else if !returned {
			l.callbackExited()
		}
	}()
	fn()
	returned = true
}

// ready puts t at the end of the queue.
func (l *Loop) ready(t *Task) {
	t.state = stateReady
	l.queue.Add(entry{task: t})
}

// first exchanges the entry at place i of the queue with the first one.
func (s *schedule) first(i int) {
	a, b := s.queue.At(0), s.queue.At(i)
	*a, *b = *b, *a
}

// taskID returns the number of the task at place i of the queue, or 0 for a
// callback.
func (s *schedule) taskID(i int) uint64 {
	if t := s.queue.At(i).task; t != nil {
		return t.id
	}
	return 0
}

// LoopOf returns the loop that ctx belongs to, or nil. It never suspends.
//
// Any goroutine may use the loop to Post from then on, so a loop that was asked
// for is never said to be in deadlock, unless it is simulated.
func LoopOf(ctx context.Context) *Loop {
	s := scopeOf(ctx)
	if s == nil {
		return nil
	}
	if s.loop.inside() && s.loop.exposed == 0 {
		s.loop.expose(1)
	}
	return s.loop
}

// Name returns the Runner's name of the loop, or "loop-N".
func (l *Loop) Name() string { return l.name }

// Stats counts what a loop has done since its Run began.
type Stats struct {
	Turns    uint64        // turns of the event loop
	Switches uint64        // times that a task was given the baton
	Posts    uint64        // functions that came in through Post
	Tasks    int           // tasks that live
	Spawned  uint64        // tasks that were ever started
	Ready    int           // tasks and callbacks that could run
	Timers   int           // timers that are set
	Workers  int           // coroutines, idle ones included
	Busy     time.Duration // time spent running tasks and callbacks
	Idle     time.Duration // time spent asleep
}

// Stats returns the loop's counts. It never suspends, and like the loop's other
// methods it may be called only on the loop.
func (l *Loop) Stats() Stats {
	l.mustBeInside("Loop.Stats")
	s := l.stats
	s.Tasks, s.Spawned, s.Ready = l.live, l.lastID, l.queue.Len()
	s.Timers, s.Workers = l.timers.len(), l.workers
	s.Busy = time.Duration(l.driver.Now()-l.started) - s.Idle
	return s
}
