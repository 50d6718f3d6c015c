package rondo

// This file passes the baton: it moves control from the goroutine that
// suspends straight to the one that runs next. Nothing else in Rondo switches
// goroutines, and nothing else touches iter.Pull.
//
// The law. A slot is one iter.Pull instance, seen as a place in which exactly
// one goroutine is parked. Its next and its yield both mean the same: park me
// here, and run the one that was parked here. So a goroutine that wants U to
// run swaps into the slot where U is parked, whichever that is; from then on
// it is parked there itself, and whoever wants it back has to come there. With
// N slots there are N+1 goroutines, one running and one parked in each slot:
// the assignment is a permutation, and every swap is a step of it.
//
// Three things follow.
//
//   - next and yield of an instance must alternate, because iter.Pull checks
//     it; so a slot keeps one bool.
//   - The stop function of an instance is never called: it would resume a
//     goroutine that is not the one meant. A worker ends by returning. The
//     runtime then runs whoever is parked in the slot of the worker's birth.
//   - A panic or a Goexit that reached iter.Pull would come out in whoever is
//     parked in that slot, which may be any task. So a worker lets neither
//     through (see worker.perform).
//
// All of this is within the contract of iter.Pull: its functions may be called
// from different goroutines, though never at once. TestBatonPermutation drives
// it through millions of random transfers beside a model.

import (
	"iter"

	"github.com/rondo-go/rondo/internal/gid"
)

// direct is true if who suspends hands over straight to who runs next. With
// false every switch goes through the goroutine of Run, which resumes each
// task in turn: the plain way, twice the switches, and no assumption about
// iter.Pull beyond the usual. All tests pass with either.
const direct = true

type unit = struct{}

// A slot is one iter.Pull instance: a place in which exactly one goroutine is
// parked, except between its worker's end and the swap that never comes.
type slot struct {
	next  func() (unit, bool)
	yield func(unit) bool
	inner bool // the last switch was a next, so the next one is a yield
	born  *worker
}

// swap parks the calling goroutine in s and runs the one that was parked there.
// It returns when somebody swaps into s in turn, or when the worker born in s
// has ended.
func (s *slot) swap() {
	if s.inner {
		s.inner = false
		s.yield(unit{})
	} else {
		s.inner = true
		s.next()
	}
}

// A worker is a goroutine that runs tasks, one after the other. What a task needs
// only from its start to its end is here and not in the Task: where it is
// parked, and what it waits for.
type worker struct {
	// What a switch touches comes first, in one line of the processor's cache.
	at       *slot  // where it is parked; nil while it runs
	home     slot   // the slot of its birth
	job      *Task  // what it runs; while idle, what it has been given to run
	switches uint64 // times the task was given the baton
	spent    uint32 // what it has done since then; see innerTask.Spend
	alarm    int32  // its place among the loop's timers, plus one

	// What its task waits for.
	cause  *verdict  // why the wait was ended before its time
	under  *Scope    // whose cancellation ends the wait; nil if none does
	list   *WaitList // what it waits in; nil if in none
	after  *worker   // its neighbours in list
	before *worker
	reason Reason
	since  int64  // the loop's clock when it began to wait
	inner  *Scope // the scope opened last of those that the task's body is in
	guest  int32  // its place among the strangers of under, plus one

	over  bool    // its life is
	index int32   // its place in loop.idle, while idle
	id    uint64  // its goroutine's number
	g     uintptr // the runtime's record of it, for those who look from outside
	loop  *Loop
}

// leave picks the task that runs next. If that is t itself, the running task, it
// gives nil. Else it gives the slot to swap into, and notes that t is parked
// there from then on. After the swap comes arrive.
func (l *Loop) leave(t *Task) *slot {
	nx := l.pick(t == l.hub)
	if nx == t {
		return nil
	}
	w := t.worker
	w.at = l.enter(nx, t == l.hub)
	return w.at
}

// enter gives the slot to swap into so that nx runs, and notes that it does.
func (l *Loop) enter(nx *Task, fromHub bool) *slot {
	if nx.worker == nil {
		l.engage(nx)
	}
	w := nx.worker
	s := w.at
	if l.spare.over > 0 && direct && s.born.isIdle() {
		s = l.dismiss(s)
	}
	w.at, l.current = nil, nx
	if !direct {
		return l.viaHub(s, fromHub)
	}
	return s
}

// arrive notes that t has the baton again.
func (l *Loop) arrive(t *Task) {
	l.current = t
	l.stats.Switches++
	t.state = stateRunning
	t.worker.switches++
	t.worker.spent = 0
	if l.watch != nil {
		l.watch.arrives(t)
	}
}

// handOver gives the baton from t, the running task, to u, which waits for just
// that or has not started, past the queue. It returns when t has it again. That
// is no wait that would renew t's allowance.
func (l *Loop) handOver(t, u *Task) {
	if l.watch != nil {
		if u.state == stateWaiting {
			l.watch.wakes(u)
		}
		l.watch.leaves(t)
	}
	w := t.worker
	s := l.enter(u, false)
	w.at = s
	if s.inner = !s.inner; s.inner { // as in park
		s.next()
	} else {
		s.yield(unit{})
	}
	spent := w.spent
	l.arrive(t)
	w.spent = spent
}

// engage gives nx, which has not started, to an idle worker. There it is parked
// as if it had suspended.
func (l *Loop) engage(nx *Task) {
	if len(l.idle) == 0 {
		l.hire()
	}
	l.idleWorker().take(nx)
}

// take makes t the task that w runs next.
func (w *worker) take(t *Task) {
	w.job, t.worker = t, w
	w.inner = &t.scope
	w.switches = 0
}

// isIdle tells whether the worker waits for a task: it is parked without one.
func (w *worker) isIdle() bool { return w.job == nil && w.at != nil }

// viaHub is the plain way to the slot s: for a task, by the slot in which the
// hub is parked, l.base. The hub itself goes on from there, to one task after
// the other, until the one that is picked is the hub.
func (l *Loop) viaHub(s *slot, fromHub bool) *slot {
	l.way = s
	if !fromHub {
		return l.base
	}
	for l.hub.worker.at = s; l.current != l.hub; {
		l.base = l.way
		l.base.swap()
	}
	return nil
}

// idleWorker takes the worker that became idle last, whose stack is warmest.
func (l *Loop) idleWorker() *worker {
	n := len(l.idle)
	if n == 0 {
		return nil
	}
	w := l.idle[n-1]
	l.idle[n-1] = nil
	l.idle = l.idle[:n-1]
	l.spare.least = min(l.spare.least, n-1)
	return w
}

// rest puts w among the idle workers. From here on it is parked wherever the
// swap that follows puts it.
func (l *Loop) rest(w *worker) {
	w.job, w.inner, w.index = nil, nil, int32(len(l.idle))
	l.idle = append(l.idle, w)
}

// hire makes workers where there is no idle one: as many as there are, up to a
// limit. One would do; but who hires is a task that waits, so the runtime's work
// of making goroutines is done on its stack, which may have to grow for it. With
// 100,000 tasks it is one stack in 32 that grows.
func (l *Loop) hire() {
	for range min(max(1, l.workers), 32) {
		l.rest(l.newWorker())
	}
}

// newWorker makes a worker, parked in the slot of its birth.
func (l *Loop) newWorker() *worker {
	w := &worker{loop: l}
	s := &w.home
	s.born, w.at = w, s
	s.next, _ = iter.Pull(func(yield func(unit) bool) {
		// A worker's life: its tasks, until it is woken without one.
		w.begin(yield)
		defer w.outlast()
		if w.job != nil {
			w.perform()
			w.serve()
		}
		w.quit()
	})
	l.workers++
	return w
}

// begin notes what is known of the worker once it runs. It is a function of its
// own because what it needs of the stack would stay there for the worker's life.
//
//go:noinline
func (w *worker) begin(yield func(unit) bool) {
	w.home.yield = yield
	w.id, w.g = gid.ID(), gid.Record()
	w.loop.crew.add(w.id)
}

// serve runs what comes next in the worker, again and again, until it is woken
// without a job.
func (w *worker) serve() {
	l := w.loop
	for {
		nx := l.pick(false)
		if nx.worker == nil && direct {
			// A task that has not started needs no switch: it runs right here.
			l.current = nx
			w.take(nx)
		} else {
			s := l.enter(nx, false)
			l.rest(w)
			w.at = s
			if s.inner = !s.inner; s.inner { // as in park
				s.next()
			} else {
				s.yield(unit{})
			}
			if w.job == nil {
				return
			}
		}
		w.perform()
	}
}

// outlast is called, deferred, when the worker's life ends. If that is by a
// Goexit, which nothing can stop, of a task or of a callback that ran on this
// stack, the worker goes on in here: so its goroutine ends only when the loop
// does, with control on its way back to Run.
func (w *worker) outlast() {
	if w.over {
		return
	}
	if v := recover(); v != nil {
		panic(v) // a fault of Rondo's own
	}
	if w.job != nil {
		defer w.outlast() // there may be another
		w.loop.exited()
		w.serve()
	}
	// Else it was idle, and another worker that ended has handed its Goexit on.
	w.quit()
}

// quit takes the worker off the books: its goroutine is about to end.
func (w *worker) quit() {
	w.at, w.over = nil, true
	w.loop.crew.remove(w.id)
	w.loop.workers--
}

// perform runs w.job to its end, whatever end that is. A panic is kept with its
// stack, and the worker goes on; for a Goexit see outlast. What is before and after
// the task stands in functions of its own: the frame of this one is on the stack of
// every task that waits, and 100 bytes decide whether the runtime gives them 2 KiB
// or 4.
func (w *worker) perform() {
	defer w.rescue()
	w.arrive()
	w.finish(w.job.fn(&w.job.scope))
}

// arrive begins w.job.
//
//go:noinline
func (w *worker) arrive() {
	w.job.gid = w.id
	w.loop.arrive(w.job)
}

// finish ends w.job, which has returned.
//
//go:noinline
func (w *worker) finish(err error) {
	if w.job.scope.extra != nil {
		w.job.leaveOwn()
	}
	w.loop.finish(w.job, err)
}

// rescue is called, deferred, when perform is left, and sees to a task that has
// not ended by returning.
func (w *worker) rescue() {
	t := w.job
	if t.state == stateDone {
		return
	}
	// While the task waits for its Pulls below, a callback may call Goexit here.
	defer w.rescue()
	l := w.loop
	l.withdraw(t)
	if v := recover(); v != nil {
		err := l.panicked(t.Name(), v)
		if e, ok := err.(*PanicError); ok && e.Site == "" {
			e.Site = t.startedAt()
		}
		t.leaveOwn()
		l.finish(t, err)
		return
	}
	l.exited()
	t.leaveOwn()
	l.finish(t, errGoexit)
}

// release ends all idle workers. Swapping into the slot where one is parked
// runs it; it has no job and returns, and the runtime runs whoever is parked in
// the slot of its birth; that worker returns too, and so on round one cycle of
// the permutation, until the goroutine comes up that is parked in the slot this
// function swapped into: the caller itself.
func (l *Loop) release() {
	// A worker whose task called Goexit still carries it, and hands it on to
	// whoever it wakes; if that is the caller, the rest is for this call.
	defer func() {
		if len(l.idle) > 0 {
			l.release()
		}
	}()
	for {
		w := l.idleWorker()
		if w == nil {
			return
		}
		if s := w.at; s != nil {
			w.at = nil
			s.swap()
		}
	}
}
