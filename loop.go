package rondo

// This file is the heart of Rondo: the loop that runs tasks.
//
// A Loop has a queue of what can run, a heap of timers, and a driver that can
// sleep until the outside world has news. The event loop is the function turn.
// One turn is three steps, always in this order:
//
//  1. ask the driver for news, and sleep there only if nothing can run;
//  2. make ready what timers that are due were set for;
//  3. run each task and callback that was ready when this step began, once, in
//     the order in which they became ready.
//
// What becomes ready during step 3 waits for the next turn. So tasks that keep
// waking each other cannot hold up a socket or a timer for more than a turn
// (TestTurnIsBounded).
//
// There is no goroutine that turns the loop. Whoever suspends calls pick, which
// turns it on the spot, and hands over to what is to run next (baton.go). Only to
// sleep the loop goes to one place, the goroutine of Run. One goroutine at a
// time does any of this, so there is no lock in this file, and there must never
// be one: post.go has the only door through which other goroutines come in.

import (
	"context"
	"runtime"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
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
	name    string
	serial  uint64 // which loop of the process it is
	runner  Runner
	driver  driver.Driver
	virtual bool
	choose  func(n int, who func(i int) uint64) int // nil: in order
	who     func(i int) uint64                      // queue.who

	queue   queue  // what is ready to run
	batch   int    // how many of the queue this turn still runs
	steps   uint64 // tasks and callbacks run so far
	asked   uint64 // steps when the driver was asked last
	now     int64  // the clock when it was read last
	started int64  // the clock when Run began
	epoch   int64  // see driver.Epoch
	lent    int64  // the clock when the processor was lent to others last
	timers  timers
	current *Task // the running task; nil in a callback and between tasks
	crew    crew

	root    Scope // every task's outermost scope
	hub     *Task // stands for the goroutine of Run
	main    *Task
	ring    *Task // any of the tasks that live
	live    int   // tasks that live, without the hub
	lastID  uint64
	fault   fault    // why the loop ends before its time
	drained WaitList // Run, waiting for the last task

	idle    []*worker
	spare   spare
	workers int
	base    *slot // with direct false: the slot in which the hub is parked
	way     *slot // with direct false: the one it goes to next

	door     door
	outside  int  // what may still wake the loop from outside; see hold
	helpers  int  // goroutines that work for the loop, besides offloaded functions
	shared   bool // something was handed out through which anybody may wake the loop
	offload  offload
	unheard  unheards
	watch    *watch     // nil if nobody looks on
	lookouts []*lookout // only if virtual
	stats    Stats

	interrupt interrupt
}

// turn is the event loop. See the head of this file.
func (l *Loop) turn() {
	l.stats.Turns++
	if l.lookouts != nil {
		l.lookAbout()
	}
	if l.queue.n == 0 || l.steps-l.asked >= askEvery || l.door.pending() && l.open() {
		l.ask()
	}
	l.batch = l.queue.n
}

// alone tells whether the next turn would bring nothing but the running task
// back: nothing is ready, nobody has come in, and it is not time to ask. Whoever
// counts steps, a simulation or whoever looks on, wants to see each.
func (l *Loop) alone() bool {
	return l.queue.n == 0 && l.steps-l.asked < askEvery && !l.door.pending() && !l.virtual && l.watch == nil
}

// pick gives the task to run next. It runs the callbacks that come before it, and
// turns the loop whenever a turn's batch is used up.
//
// If the loop would sleep, that is the hub's part: to sleep takes the deepest
// calls there are, and the stack of a task that waits for long should stay small.
func (l *Loop) pick(hub bool) *Task {
	if l.watch != nil {
		l.watch.leaves(l.current)
	}
	l.current = nil
	for {
		for l.batch > 0 {
			l.batch--
			l.steps++
			if l.choose != nil && l.batch > 0 && l.live > 0 {
				// When the last task has ended, what comes in comes when the world likes.
				l.queue.first(l.choose(l.batch+1, l.who))
			}
			e := l.queue.pop()
			if l.watch != nil {
				l.watch.begins(e)
			}
			if e.task != nil {
				return e.task
			}
			if e.call != nil {
				l.call(e.call)
			}
		}
		if l.queue.n == 0 && !hub && !l.door.pending() {
			return l.hub
		}
		l.turn()
	}
}

// ask is steps 1 and 2 of a turn.
func (l *Loop) ask() {
	l.asked = l.steps
	until := int64(-1)
	if l.queue.n == 0 && !l.door.pending() {
		until = l.timers.next()
		if l.virtual && l.offload.running+l.helpers > 0 {
			// Time that is simulated must not pass while work that is real goes on.
			until = driver.Forever
		} else if until == driver.Forever && l.outside == 0 && (!l.shared || l.virtual) {
			l.deadlock()
			return
		}
	}
	if until < 0 {
		l.poll(until)
		l.now = l.driver.Now()
		l.lend()
	} else {
		idle := l.driver.Now()
		if l.watch != nil {
			l.watch.sleeps(true)
		}
		l.poll(until)
		l.now = l.driver.Now()
		l.lent = l.now
		l.stats.Idle += time.Duration(l.now - idle)
		if l.watch != nil {
			l.watch.sleeps(false)
		}
	}
	if l.open() {
		l.door.empty(l)
	}
	l.timers.fire(l)
	l.spare.look(l)
}

// open tells whether the loop takes what comes in. In a simulation it does when
// nothing else can run: the moment at which others come is no part of a schedule
// that can be replayed, unless the loop waits for them.
func (l *Loop) open() bool { return !l.virtual || l.queue.n == 0 || l.live == 0 }

// poll asks the driver. A driver that fails cannot be asked again: the loop
// ends with its error.
func (l *Loop) poll(until int64) {
	if err := l.driver.Poll(until); err != nil {
		l.abort(err)
	}
}

// lend gives the processor to other goroutines for a moment if some of them
// work for this loop and it has been busy for a while.
func (l *Loop) lend() {
	if l.offload.running+l.helpers > 0 && l.now-l.lent >= int64(yieldEvery) {
		runtime.Gosched()
		l.now = l.driver.Now()
		l.lent = l.now
	}
}

// call runs a callback. A panic in it is the program's, not the innocent
// task's on whose stack it happens to run.
func (l *Loop) call(h *Handle) {
	fn := h.fn
	if fn == nil {
		return
	}
	h.fn = nil
	if l.watch != nil {
		defer l.watch.called(l.watch.now())
	}
	returned := false
	defer func() {
		if v := recover(); v != nil {
			l.panicked(callback, v)
		} else if !returned {
			l.unwind()
		}
	}()
	fn()
	returned = true
}

// ready puts t at the end of the queue.
func (l *Loop) ready(t *Task) {
	t.state = stateReady
	l.queue.push(entry{task: t})
}

// unwind hears that what ran on the stack of a task that was about to be parked, a
// callback or a hook, called Goexit. The task runs again, as far as its deferred
// calls are concerned: they may wait. It is the one that is not parked anywhere.
func (l *Loop) unwind() {
	for t := range l.tasks() {
		if t.worker != nil && t.worker.at == nil {
			l.withdraw(t)
			l.current = t
			return
		}
	}
}

// withdraw makes t a running task if it is parked, or was about to be, though
// its goroutine unwinds.
func (l *Loop) withdraw(t *Task) {
	switch t.state {
	case stateWaiting:
		t.worker.abandon()
		t.worker.under = nil
	case stateReady:
		t.worker.cause, t.worker.under = nil, nil
		for i := range l.queue.n {
			if e := &l.queue.ring[(l.queue.head+i)&(len(l.queue.ring)-1)]; e.task == t {
				*e = entry{}
			}
		}
	}
	t.state = stateRunning
}

// An entry of the queue is a task or a callback, or nothing any more.
type entry struct {
	task *Task
	call *Handle
}

// queue is a ring that grows: what is ready, in the order it became so.
type queue struct {
	ring []entry // its length is a power of two
	head int
	n    int
}

func (q *queue) push(e entry) {
	if q.n == len(q.ring) {
		q.grow()
	}
	q.ring[(q.head+q.n)&(len(q.ring)-1)] = e
	q.n++
}

func (q *queue) pop() entry {
	e := q.ring[q.head]
	q.ring[q.head] = entry{}
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
	return e
}

// first exchanges the entry at place i with the one at the head.
func (q *queue) first(i int) {
	mask := len(q.ring) - 1
	a, b := q.head, (q.head+i)&mask
	q.ring[a], q.ring[b] = q.ring[b], q.ring[a]
}

// who gives the number of the task at place i, or 0 for a callback.
func (q *queue) who(i int) uint64 {
	if t := q.ring[(q.head+i)&(len(q.ring)-1)].task; t != nil {
		return t.id
	}
	return 0
}

func (q *queue) grow() {
	ring := make([]entry, max(64, 2*len(q.ring)))
	n := copy(ring, q.ring[q.head:])
	copy(ring[n:], q.ring[:q.head])
	q.ring, q.head = ring, 0
}

// LoopOf gives the loop that ctx belongs to, or nil. It never suspends.
//
// Any goroutine may use the loop to Post from then on, so a loop that was asked
// for is never said to be in deadlock, unless it is simulated.
func LoopOf(ctx context.Context) *Loop {
	s := scopeOf(ctx)
	if s == nil {
		return nil
	}
	if s.loop.inside() {
		s.loop.shared = true
	}
	return s.loop
}

// Name gives the Runner's name of the loop, or "loop-N".
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

// Stats gives the loop's counts. It never suspends, and like the loop's other
// methods it may be called only on the loop.
func (l *Loop) Stats() Stats {
	l.mustBeInside("Loop.Stats")
	s := l.stats
	s.Tasks, s.Spawned, s.Ready = l.live, l.lastID, l.queue.n
	s.Timers, s.Workers = l.timers.len(), l.workers
	s.Busy = time.Duration(l.driver.Now()-l.started) - s.Idle
	return s
}
