package rondo

// Workers are goroutines that run tasks, one after the other. They are made when a task
// starts and none is idle, and retired when they have been idle for long.
//
// The law: a worker is running, or parked in one slot (baton.go), or has ended. A worker that is
// parked without a task is idle and in the pool. A worker ends only by returning from its life,
// the function that newWorker gives to iter.Pull. The runtime then runs the goroutine that is
// parked in the worker's home, the slot that was made with it.

import (
	"iter"
	"slices"
	"time"

	"github.com/rondo-go/rondo/internal/gid"
	"github.com/rondo-go/rondo/internal/pace"
)

// A worker is a goroutine that runs tasks. It also holds the state that a task needs only
// between its start and its end, such as where it is parked and what it waits for.
type worker struct {
	// The fields that a switch touches come first, in one cache line.
	at         *slot  // where it is parked; nil while it runs
	home       slot   // the slot that was made with it
	job        *Task  // the task that it runs, or that an idle worker runs next
	switches   uint64 // times the task was switched to
	spent      uint32 // bytes and operations since the last switch; see taskDoor.Spend and affords
	timerIndex int32  // index among the loop's timers, plus one; 0: no timer

	// The wait of its task.
	cause        *cancellation // the cancellation that ended the wait; nil if none did
	under        *Scope        // the scope whose cancellation ends the wait; nil if none does
	waiter                     // its place in a WaitList
	selection    *selection    // the waits of a Select; nil before the first Select
	reason       Reason
	since        int64  // the loop's clock when the wait began, ns
	inner        *Scope // the innermost scope that the task's body is in
	foreignIndex int32  // index among the foreign waiters of under, plus one; 0: none
	index        int32  // index in pool.idle, while idle
	cost         pace.Cost
	id           uint64  // number of its goroutine
	g            uintptr // address of its goroutine's g, for readers from outside
	stack        uintptr // stack pointer while it is parked, to prefetch the stack
	loop         *Loop
}

// pool has the workers of a loop.
type pool struct {
	idle     []*worker
	workers  int   // how many there are, idle ones included
	nextTask *Task // runs ahead of the queue when the running task has ended; see finish and Pull
	pass     bool  // the first task to become ready becomes nextTask instead of being queued
	unplaced *Task // a new task off the queue that waits for Run to make workers; see slotFor

	surplus  surplus // how many idle workers are too many
	retiring bool    // retireSurplus runs

	label    func(entry uintptr) // sets pprof's labels; nil without ProfileLabels
	runSlot  *slot               // with direct false: where the goroutine of Run is parked
	nextSlot *slot               // with direct false: the slot that it swaps into next
}

// assign gives the new task nx to an idle worker, and makes workers if none is idle. From
// then on nx counts as parked, in the slot in which the worker is parked.
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
	w.cost.Waker = uint32(t.parent) // set separately: copying a Cost built on the stack would stall
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

// setIdle puts w among the idle workers. The caller records in w.at where w is parked.
func (p *pool) setIdle(w *worker) {
	w.job, w.inner, w.index = nil, nil, int32(len(p.idle))
	p.idle = append(p.idle, w)
}

// grow makes workers when none is idle. It doubles their number, but makes 32 at most. It is
// called on the goroutine of Run if that one waits: to make a goroutine the runtime makes deep
// calls, which would grow the stack of a task.
func (l *Loop) grow() {
	for range min(max(1, l.workers), 32) {
		l.setIdle(l.newWorker())
	}
}

// newWorker makes a worker, parked in its home.
func (l *Loop) newWorker() *worker {
	w := &worker{loop: l}
	w.waiter.worker = w
	s := &w.home
	w.at = s
	s.next, _ = iter.Pull(func(yield func(unit) bool) {
		// The worker's life: it runs tasks until it is resumed without one.
		w.identify(yield)
		defer w.surviveGoexit()
		if w.job != nil || !w.ends() {
			w.perform()
			w.runJobs()
		}
	})
	l.workers++
	return w
}

// identify records the worker's goroutine, which exists only once it runs. It is not inlined,
// so that its variables do not stay on the stack for the worker's life.
//
//go:noinline
func (w *worker) identify(yield func(unit) bool) {
	w.home.yield = yield
	w.id, w.g = gid.ID(), gid.Record()
	w.loop.goroutines.Add(w.id)
}

// runJobs runs one task after the other in w, until w is resumed without a task and ends.
func (w *worker) runJobs() {
	l := w.loop
	for {
		nx := l.nextTask
		if l.nextTask = nil; nx == nil {
			nx = l.pick(false)
		}
		if nx.worker == nil && direct {
			// A new task needs no switch: it runs on this goroutine.
			l.current = nx
			w.take(nx)
		} else {
			s := l.slotFor(nx, false)
			l.setIdle(w)
			w.at = s
			if s.inner = !s.inner; s.inner { // swap, inlined
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

// quit removes w from the loop's records. Its goroutine is about to end.
func (w *worker) quit() {
	w.at, w.home.over = nil, true
	w.loop.goroutines.Remove(w.id)
	w.loop.workers--
}

// perform runs w.job until it returns, panics or calls Goexit. It keeps a panic with its stack,
// and the worker goes on; for a Goexit see surviveGoexit. The work before and after the task is
// in functions of its own, which are not inlined. The frame of perform is on the stack of every
// task that waits, and 100 bytes decide whether that stack is 2 KiB or 4 KiB.
func (w *worker) perform() {
	defer w.rescue()
	w.arrive()
	if t := w.job; t.fn != nil {
		w.finish(t.fn(&t.scope))
	} else {
		w.finish(t.extra.body.run(&t.scope))
	}
}

// arrive records that w.job starts.
//
//go:noinline
func (w *worker) arrive() {
	w.job.self = gid.Self()
	w.loop.arrive(w.job)
	if f := w.loop.flight.record; f != nil {
		f.Start(w.job.id, w.job.entry())
	}
	if label := w.loop.label; label != nil {
		label(w.job.entry())
	}
}

// finish ends w.job, which has returned err.
//
//go:noinline
func (w *worker) finish(err error) {
	if s := &w.job.scope; s.extra != nil || s.tasks > 0 {
		if err = w.job.leaveOwn(err); err != nil && w.job.serving {
			s.ensureExtra().errs = []error{err} // if judge panics, rescue calls leaveOwn again
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

// A surplus says how many idle workers a loop must retire, so that a burst of tasks does not
// leave its stacks behind for ever: as many as were idle throughout the last period of
// surplusAfter, less surplusKeep.
type surplus struct {
	n     int   // workers to retire
	stuck int   // how many of them retireSurplus could not retire when last called
	due   bool  // the goroutine of Run must call retireSurplus
	since int64 // the loop's clock when the period began, ns
	least int   // the fewest workers that were idle at once in the period
}

// Bursts that come again are the reason to keep idle workers; memory, and the stacks that
// the garbage collector scans, are the reason not to. In a burst of 1,000 tasks that sleep,
// each costs 1.2 to 1.6 µs whether its worker was idle or had to be made, so workers are
// kept for a short time only.
const (
	surplusAfter = int64(500 * time.Millisecond)
	surplusKeep  = 64
)

// idle records that n workers are idle.
func (s *surplus) idle(n int) { s.least = min(s.least, n) }

// look sets the number of workers to retire, and begins a new period, if a period has passed.
// n workers are idle.
func (s *surplus) look(now int64, n int) {
	if now-s.since >= surplusAfter {
		many := max(0, s.least-surplusKeep)
		*s = surplus{n: many, due: many > 0, since: now, least: n}
	}
}

// at returns the time at which a sleeping loop must wake up to call look, if n workers are idle.
func (s *surplus) at(n int) int64 {
	if n <= surplusKeep+s.stuck {
		return never
	}
	return s.since + surplusAfter
}

// clear makes no worker surplus.
func (s *surplus) clear() { s.n, s.due = 0, false }

// lookForSurplus sets the number of workers to retire, if it is time.
func (l *Loop) lookForSurplus() {
	if l.fault.any() {
		// A worker whose task called Goexit still unwinds, and when it ends the Goexit
		// would continue in the goroutine that runs after it. retireAll ends all workers
		// soon, because the loop is ending.
		l.surplus.clear()
		return
	}
	l.surplus.look(l.now, len(l.idle))
}

// lookAt returns the time at which the loop, which is about to sleep, must wake up to look
// for surplus workers, or never.
func (l *Loop) lookAt() int64 {
	if l.jumps() || l.fault.any() {
		return never
	}
	return l.surplus.at(len(l.idle))
}

// When a worker ends, the goroutine that is parked in its home runs. That must not be a task
// that still waits. So a surplus worker ends in one of two ways:
//
//   - slotFor finds that the task to run is parked in the home of a surplus worker. It
//     returns the slot of that worker instead: the worker runs and ends, and the task runs.
//   - retireSurplus ends those in whose home an idle worker, or the goroutine of Run, is
//     parked. It needs no task that runs.

// retireSurplus ends surplus workers. It must be called on the goroutine of Run. It swaps to
// a surplus worker, which ends; so the idle worker that is parked in its home runs, and ends in
// turn, and so on. The chain is over when the goroutine of Run comes up, or a worker that
// must not end and therefore swaps to the goroutine of Run (see ends).
func (l *Loop) retireSurplus() {
	l.surplus.due = false
	l.retiring = true
	idle, slots := slices.Clone(l.idle), make([]*slot, len(l.idle))
	for i, w := range idle {
		slots[i] = w.at
		w.at.idle = true
	}
	run := l.runTask.worker
	for _, w := range idle {
		if !w.home.over && w.mayEnd() {
			run.at = w.at
			run.at.swap()
			run.at = nil
		}
	}
	for _, s := range slots {
		s.idle = false
	}
	l.retiring, l.surplus.stuck = false, l.surplus.n
}

// mayEnd reports whether w is surplus and no task is parked in its home. The marks that
// retireSurplus sets stay right while it runs: the goroutine of Run parks only in a slot in
// which an idle worker was, and a worker that swaps to it parks where it was.
func (w *worker) mayEnd() bool { return w.loop.surplus.n > 0 && w.home.idle }

// ends reports whether w, which runs without a job, must end. If it need not, ends parks w
// and returns false when w has a job.
func (w *worker) ends() bool {
	l := w.loop
	for w.job == nil {
		switch {
		case !l.retiring: // it was retired by slotFor or by retireAll
			return true
		case w.mayEnd():
			l.retire(w)
			return true
		}
		w.at = l.runTask.worker.at // swap to the goroutine of Run
		w.at.swap()
	}
	return false
}

// retire removes w, which is about to end, from the idle workers.
func (p *pool) retire(w *worker) {
	n := len(p.idle) - 1
	p.idle[w.index] = p.idle[n]
	p.idle[w.index].index = w.index
	p.idle[n] = nil
	p.idle = p.idle[:n]
	p.surplus.n--
	p.surplus.idle(n)
}

// retireAll ends all idle workers. It swaps into the slot in which one is parked. That worker
// runs, has no job and ends, and the runtime runs the goroutine parked in its home: another
// worker, which ends too. This continues through one cycle of the permutation, up to the
// worker whose home is the slot that retireAll has swapped into. When that one ends, the
// caller runs again.
func (p *pool) retireAll() {
	// When a worker whose task called Goexit ends, the Goexit continues in the goroutine
	// that runs next. If that is the caller, this deferred call ends the other workers.
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
