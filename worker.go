package rondo

// Workers are goroutines that run tasks, one after the other. They are made when a task
// starts and none is idle, and retired when they have been idle for long.
//
// The law: a worker is running, or parked in one slot (baton.go), or its life is over. A worker
// that is parked without a task is idle and in the pool. Only a worker that returns from its
// life ends, and only the goroutine that is parked in the slot of its birth runs next.

import (
	"iter"
	"slices"
	"time"

	"github.com/rondo-go/rondo/internal/gid"
	"github.com/rondo-go/rondo/internal/pace"
)

// A worker is a goroutine that runs tasks. What a task needs only from its start to
// its end is here and not in the Task: where it is parked, and what it waits for.
type worker struct {
	// What a switch touches comes first, in one line of the processor's cache.
	at         *slot  // where it is parked; nil while it runs
	home       slot   // the slot of its birth
	job        *Task  // what it runs; while idle, what it has been given to run
	switches   uint64 // times the task was given the baton
	spent      uint32 // what it has done since then; see taskDoor.Spend and affords
	timerIndex int32  // its place among the loop's timers, plus one

	// What its task waits for.
	cause        *cancellation // why the wait was ended before its time
	under        *Scope        // whose cancellation ends the wait; nil if none does
	waiter                     // its place in what it waits in
	selection    *selection    // of its Selects; nil before the first
	reason       Reason
	since        int64  // the loop's clock when it began to wait
	inner        *Scope // the scope opened last of those that the task's body is in
	foreignIndex int32  // its place among the foreign waiters of under, plus one
	index        int32  // its place in the pool, while idle
	cost         pace.Cost
	id           uint64  // its goroutine's number
	g            uintptr // the runtime's record of it, for those who look from outside
	stack        uintptr // where its stack ends while it is parked, to prefetch it
	loop         *Loop
}

// pool has the workers of a loop.
type pool struct {
	idle     []*worker
	workers  int   // all of them
	nextTask *Task // runs when the task that ends has ended, past the queue; see finish and Pull
	pass     bool  // what becomes ready first is to be nextTask
	unplaced *Task // has left the queue, and there is no worker for it; see slotFor

	surplus  surplus        // how many idle ones are too many
	retiring map[*slot]bool // while Run retires them: where they and Run are parked

	label    func(entry uintptr) // sets pprof's labels; nil without ProfileLabels
	runSlot  *slot               // with direct false: where the goroutine of Run is parked
	nextSlot *slot               // with direct false: the one it goes to next
}

// assign gives nx, which has not started, to an idle worker. There it is parked
// as if it had suspended.
func (l *Loop) assign(nx *Task) {
	if len(l.idle) == 0 {
		l.grow()
	}
	l.idleWorker().take(nx)
}

// take makes t the task that w runs next.
func (w *worker) take(t *Task) {
	w.job, t.worker = t, w
	w.inner = &t.scope
	w.switches, w.cost = 0, pace.Cost{}
	w.cost.Waker = uint32(t.parent) // alone: the processor would wait for a Cost made on the stack
}

// idleWorker takes the worker that became idle last, whose stack is warmest.
func (p *pool) idleWorker() *worker {
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	w := p.idle[n-1]
	p.idle[n-1] = nil
	p.idle = p.idle[:n-1]
	p.surplus.idle(n - 1)
	return w
}

// setIdle puts w among the idle workers. From here on it is parked wherever the
// swap that follows puts it.
func (p *pool) setIdle(w *worker) {
	w.job, w.inner, w.index = nil, nil, int32(len(p.idle))
	p.idle = append(p.idle, w)
}

// grow makes workers where there is no idle one: as many as there are, up to a
// limit. It is called on the goroutine of Run if that waits: the runtime's work of
// making goroutines is deep, and the stack of a task that waits would grow for it.
func (l *Loop) grow() {
	for range min(max(1, l.workers), 32) {
		l.setIdle(l.newWorker())
	}
}

// newWorker makes a worker, parked in the slot of its birth.
func (l *Loop) newWorker() *worker {
	w := &worker{loop: l}
	w.waiter.worker = w
	s := &w.home
	w.at = s
	s.next, _ = iter.Pull(func(yield func(unit) bool) {
		// A worker's life: its tasks, until it is woken without one.
		w.identify(yield)
		defer w.surviveGoexit()
		if w.job != nil || !w.ends() {
			w.perform()
			w.runJobs()
		}
		w.quit()
	})
	l.workers++
	return w
}

// identify records the worker's goroutine, which is known once it runs. It is a function
// of its own because its variables would stay on the stack for the worker's life.
//
//go:noinline
func (w *worker) identify(yield func(unit) bool) {
	w.home.yield = yield
	w.id, w.g = gid.ID(), gid.Record()
	w.loop.goroutines.Add(w.id)
}

// runJobs runs what comes next in the worker, again and again, until it is woken without a job.
func (w *worker) runJobs() {
	l := w.loop
	for {
		nx := l.nextTask
		if l.nextTask = nil; nx == nil {
			nx = l.pick(false)
		}
		if nx.worker == nil && direct {
			// A task that has not started needs no switch: it runs right here.
			l.current = nx
			w.take(nx)
		} else {
			s := l.slotFor(nx, false)
			l.setIdle(w)
			w.at = s
			if s.inner = !s.inner; s.inner { // swap, by hand
				s.next()
			} else {
				s.yield(unit{})
			}
			if w.job == nil && w.ends() {
				return
			}
		}
		w.perform()
	}
}

// quit takes the worker off the books: its goroutine is about to end.
func (w *worker) quit() {
	w.at, w.home.over = nil, true
	w.loop.goroutines.Remove(w.id)
	w.loop.workers--
}

// perform runs w.job to its end, whatever end that is. A panic is kept with its stack,
// and the worker goes on; for a Goexit see surviveGoexit. What is before and after the
// task stands in functions of its own: the frame of this one is on the stack of every
// task that waits, and 100 bytes decide whether the runtime gives them 2 KiB or 4.
func (w *worker) perform() {
	defer w.rescue()
	w.arrive()
	if t := w.job; t.fn != nil {
		w.finish(t.fn(&t.scope))
	} else {
		w.finish(t.extra.body.run(&t.scope))
	}
}

// arrive begins w.job.
//
//go:noinline
func (w *worker) arrive() {
	w.job.gid = w.id
	w.loop.arrive(w.job)
	if f := w.loop.flight.record; f != nil {
		f.Start(w.job.id, w.job.entry())
	}
	if label := w.loop.label; label != nil {
		label(w.job.entry())
	}
}

// finish ends w.job, which has returned.
//
//go:noinline
func (w *worker) finish(err error) {
	if s := &w.job.scope; s.extra != nil || s.tasks > 0 {
		if err = w.job.leaveOwn(err); err != nil && w.job.serving {
			s.ensureExtra().errs = []error{err} // with a panic of judge, rescue leaves again
		}
	}
	var v *verdict
	if err != nil {
		v = w.job.judge(err)
	}
	if label := w.loop.label; label != nil {
		label(0)
	}
	w.loop.finish(w.job, err, v)
}

// A surplus is how many idle workers of a loop are too many, so that a burst of tasks does
// not leave its stacks behind for ever: those that were idle throughout surplusAfter, but
// for surplusKeep of them.
type surplus struct {
	n     int   // how many are to be retired
	stuck int   // how many of them could not be when it was last tried
	due   bool  // the goroutine of Run is to try
	since int64 // the clock when least was begun anew
	least int   // the fewest that were idle at once since
}

// Bursts that come again are the reason to keep idle workers; memory, and the stacks that
// the garbage collector scans, are the reason not to. In a burst of 1,000 tasks that sleep,
// each costs 1.2 to 1.6 µs whether its worker was there or was made, so they are kept for
// a short time.
const (
	surplusAfter = int64(500 * time.Millisecond)
	surplusKeep  = 64
)

// idle notes that n workers are idle.
func (s *surplus) idle(n int) { s.least = min(s.least, n) }

// look sets how many are to be retired, when it is time for that; n are idle.
func (s *surplus) look(now int64, n int) {
	if now-s.since >= surplusAfter {
		many := max(0, s.least-surplusKeep)
		*s = surplus{n: many, due: many > 0, since: now, least: n}
	}
}

// at returns when a loop that sleeps is to look, with n workers idle.
func (s *surplus) at(n int) int64 {
	if n <= surplusKeep+s.stuck {
		return never
	}
	return s.since + surplusAfter
}

// clear forgets that there are too many.
func (s *surplus) clear() { s.n, s.due = 0, false }

// lookForSurplus sets how many workers are to be retired, when it is time for that.
func (l *Loop) lookForSurplus() {
	if l.fault.any() {
		// One of them may carry a Goexit, which it would hand on to the goroutine
		// that runs after it. The end of the loop is near, and sees to all.
		l.surplus.clear()
		return
	}
	l.surplus.look(l.now, len(l.idle))
}

// lookAt returns when a loop that sleeps looks for surplus workers.
func (l *Loop) lookAt() int64 {
	if l.jumps() || l.fault.any() {
		return never
	}
	return l.surplus.at(len(l.idle))
}

// A worker that ends runs the goroutine that is parked in the slot of its birth. That must not be
// a task that waits. There are two ways to see to that:
//
//   - depart is about to swap into the slot of an idle worker's birth, because the task that
//     runs next is parked there. It swaps into the idle worker's slot instead: that one ends,
//     and the task runs.
//   - retireSurplus ends those in whose slot of birth another idle worker is parked, or Run.
//     So they end also if no task runs, and if they are parked round a circle.

// retireSurplus ends surplus workers, on the goroutine of Run. It runs one of them. That
// ends, and the idle worker that is parked in the slot of its birth runs, and ends in turn:
// until Run comes up again, or one that must not end and gives way to Run.
func (l *Loop) retireSurplus() {
	l.surplus.due = false
	l.retiring = make(map[*slot]bool, len(l.idle))
	for _, w := range l.idle {
		l.retiring[w.at] = true
	}
	run := l.runTask.worker
	for _, w := range slices.Clone(l.idle) {
		if !w.home.over && w.mayEnd() {
			run.at = w.at
			run.at.swap()
			run.at = nil
		}
	}
	l.retiring, l.surplus.stuck = nil, l.surplus.n
}

// mayEnd reports whether w is surplus, and no task is parked in the slot of its birth.
// Where Run or a worker that gives way parks meanwhile, an idle one was parked before.
func (w *worker) mayEnd() bool { return w.loop.surplus.n > 0 && w.loop.retiring[&w.home] }

// ends reports whether w, which runs without a job, is to end. If it is not, ends returns
// when w has a job.
func (w *worker) ends() bool {
	l := w.loop
	for w.job == nil {
		switch {
		case l.retiring == nil: // it was retired by slotFor or by retireAll
			return true
		case w.mayEnd():
			l.retire(w)
			return true
		}
		w.at = l.runTask.worker.at // it gives way to Run
		w.at.swap()
	}
	return false
}

// retire takes w, which is about to end, off the idle workers.
func (p *pool) retire(w *worker) {
	n := len(p.idle) - 1
	p.idle[w.index] = p.idle[n]
	p.idle[w.index].index = w.index
	p.idle[n] = nil
	p.idle = p.idle[:n]
	p.surplus.n--
	p.surplus.idle(n)
}

// retireAll ends all idle workers. Swapping into the slot where one is parked runs it; it has
// no job and returns, and the runtime runs the goroutine that is parked in the slot of its
// birth; that worker returns too, and so on round one cycle of the permutation, until the
// goroutine comes up that is parked in the slot this function swapped into: the caller itself.
func (p *pool) retireAll() {
	// A worker whose task called Goexit still carries it, and hands it on to the
	// goroutine that it wakes; if that is the caller, the rest is for this call.
	defer func() {
		if len(p.idle) > 0 {
			p.retireAll()
		}
	}()
	for {
		w := p.idleWorker()
		if w == nil {
			return
		}
		if s := w.at; s != nil {
			w.at = nil
			s.swap()
		}
	}
}
