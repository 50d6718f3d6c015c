package rondo

// The baton is control over the loop: the goroutine that has it runs, and all other
// goroutines of the loop are parked. It moves from the goroutine that suspends straight to
// the one that runs next. Tasks are switched in no other way. The slots through which it
// moves are made in worker.go, by iter.Pull.
//
// The law. A slot is one instance of iter.Pull, used as a place in which exactly one goroutine is
// parked. Its functions next and yield mean the same: park the caller here, and run the goroutine
// that was parked here. So to run goroutine U, the caller swaps into the slot in which U is
// parked, whichever slot that is. From then on the caller is parked there, and a goroutine that
// wants to run the caller swaps into that slot in turn.
//
// For example, A runs, B is parked in slot 1 and C in slot 2. A hands over to C: now C runs,
// B is in slot 1 and A in slot 2. C hands over to B: B runs, C is in slot 1 and A in slot 2.
// With N slots there are N+1 goroutines, one running and one parked in each slot: a
// permutation, of which every swap exchanges two elements.
//
// Three rules follow.
//
//   - iter.Pull demands that next and yield alternate. So a slot keeps one bool, inner, that
//     says which of them is to be called.
//   - The stop function of an instance is never called: it would resume whichever goroutine
//     is parked there. A worker ends by returning from the function given to iter.Pull, and
//     the runtime then runs the goroutine parked in the worker's home, the slot that was
//     made with it.
//   - A panic or a Goexit that reached iter.Pull would continue in the goroutine
//     that is parked in that slot, which may run any task. So a worker lets
//     neither through (see worker.perform).
//
// All of this is within the contract of iter.Pull: its functions may be called
// from different goroutines, though never at once. TestBatonPermutation drives
// it through millions of random transfers beside a model.

import (
	"unsafe"

	"github.com/rondo-go/rondo/internal/prefetch"
)

// direct selects how control moves: if true, a task that suspends hands over straight to
// the task that runs next. If false, every switch goes through the goroutine of Run, which
// resumes one task after the other. That takes twice the switches, and uses iter.Pull only
// in the usual way. All tests pass with either.
const direct = true

type unit = struct{}

// A slot is one instance of iter.Pull: a place in which exactly one goroutine is parked.
// When the worker that was made with it ends, it is empty and never used again.
type slot struct {
	next  func() (unit, bool)
	yield func(unit) bool
	inner bool // the last swap called next, so the coming one calls yield
	over  bool // the worker whose home it is has ended
	idle  bool // during retireSurplus: an idle worker or the goroutine of Run is parked here
}

// born returns the worker whose home s is.
func (s *slot) born() *worker {
	return (*worker)(unsafe.Add(unsafe.Pointer(s), -int(unsafe.Offsetof(worker{}.home))))
}

// swap parks the calling goroutine in s and runs the one that was parked there. It returns
// when another goroutine swaps into s in turn, or when the worker whose home is s has ended.
//
// Where a task suspends, swap is inlined by hand, in six places. After a switch of stacks the
// processor mispredicts returns, which costs 7 to 10 ns for each function that returns. With
// calls, a switch between two tasks takes 76 ns instead of 66 on Go 1.26, and 77 instead of 70
// on Go 1.27. The compiler does not inline swap, because two indirect calls exceed its budget;
// a profile could change that only in the program's main package.
func (s *slot) swap() {
	if s.inner {
		s.inner = false
		s.yield(unit{})
	} else {
		s.inner = true
		s.next()
	}
}

// depart picks the task that runs next. If that is t itself, the running task, depart
// returns nil. Otherwise it returns the slot into which the caller must swap, and records
// that t is parked there. After the swap, or without one, the caller must call arrive.
func (l *Loop) depart(t *Task) *slot {
	if s := l.next(t, false); s != nil {
		return s
	}
	nx := l.pick(t == l.runTask)
	if nx == t {
		return nil
	}
	w := t.worker
	if prefetch.Works && l.queue.Len() >= prefetchFrom {
		w.stack = prefetch.StackPointer()
	}
	w.at = l.slotFor(nx, t == l.runTask)
	return w.at
}

// next is the fast path of depart: the first entry of the queue is a parked task, and it is
// not time to ask the driver, retire workers or tell an observer. In all other cases it
// returns nil and does nothing. If back is true, it also puts t at the end of the queue, as
// ready does. It runs tasks in the order in which pick does, and counts the same
// (TestNextIsPick). A switch between two tasks takes 66 ns with it, and 73 without.
func (l *Loop) next(t *Task, back bool) *slot {
	if !direct || l.observer != nil || l.jumps() || l.surplus.n > 0 || l.steps >= l.pace.Look || l.queue.Len() == 0 {
		return nil
	}
	nx := l.queue.At(0).task
	if nx == nil || nx == t || nx.worker == nil || t == l.runTask || l.batch == 0 && l.inbox.Pending() {
		return nil
	}
	if l.batch == 0 { // a turn begins
		l.stats.Turns++
		l.batch = l.queue.Len()
		if back {
			l.batch++
		}
	}
	l.batch--
	l.steps++
	if back {
		t.state = stateReady
		l.queue.Rotate(entry{task: t})
	} else {
		l.queue.Take()
	}
	w := t.worker
	if prefetch.Works && l.queue.Len() >= prefetchFrom {
		w.stack = prefetch.StackPointer()
		l.prefetch()
	}
	if l.batch == 0 && l.behind.Len() > 0 {
		l.moveUp()
	}
	l.ran, l.current = t, nx
	w.at, nx.worker.at = nx.worker.at, nil
	return w.at
}

// slotFor returns the slot into which the caller must swap to run nx, and records that nx
// runs. fromRun says that the caller is on the goroutine of Run.
func (l *Loop) slotFor(nx *Task, fromRun bool) *slot {
	if nx.worker == nil && len(l.idle) == 0 && !fromRun && l.runTask.state == stateWaiting {
		l.unplaced, nx = nx, l.runTask // the goroutine of Run makes the workers; see grow
	}
	if nx.worker == nil {
		l.assign(nx)
	}
	w := nx.worker
	s := w.at
	if end := s.born(); l.surplus.n > 0 && direct && end.job == nil && end.at != nil {
		// The worker whose home is s is idle and surplus, and nx is parked in its home. So it
		// is run instead of nx: it has no job and ends, and the runtime then runs nx.
		l.retire(end)
		s, end.at = end.at, nil
	}
	w.at, l.current = nil, nx
	if !direct {
		return l.throughRun(s, fromRun)
	}
	return s
}

// arrive records that t runs: every goroutine calls it after a switch, and a worker
// when it starts a task.
func (l *Loop) arrive(t *Task) {
	l.current = t
	l.stats.Switches++
	if t.woken {
		t.woken = false
		if l.flight.record != nil {
			l.flight.record.Step(t.id, t.worker.cost.Waker)
		}
	}
	t.state = stateRunning
	t.worker.switches++
	t.worker.spent = 0
	if l.observer != nil {
		l.tell(taskRuns, t)
	}
}

// transfer runs whatever is picked next, and returns when t, the calling task, runs again.
func (l *Loop) transfer(t *Task) {
	if s := l.depart(t); s != nil {
		s.swap()
	}
	l.arrive(t)
}

// handOver runs u next, ahead of the queue, and returns when t, the calling task, runs again.
// u must be waiting to be handed control, or new. t keeps what is left of its allowance
// (see taskDoor.Spend), because it has not let other tasks run.
func (l *Loop) handOver(t, u *Task) {
	if l.observer != nil {
		if u.state == stateWaiting {
			l.tell(taskWoken, u)
		}
		l.tell(taskParked, t)
	}
	w := t.worker
	s := l.slotFor(u, false)
	w.at = s
	if s.inner = !s.inner; s.inner { // swap, inlined
		s.next()
	} else {
		s.yield(unit{})
	}
	spent := w.spent
	l.arrive(t)
	w.spent = spent
}

// throughRun replaces the direct switch to slot s if direct is false. For a task it
// returns l.runSlot, the slot in which the goroutine of Run is parked. That goroutine
// swaps into s, and so into one task after the other, until l.runTask itself is picked.
func (l *Loop) throughRun(s *slot, fromRun bool) *slot {
	l.nextSlot = s
	if !fromRun {
		return l.runSlot
	}
	for l.runTask.worker.at = s; l.current != l.runTask; {
		l.runSlot = l.nextSlot
		l.runSlot.swap()
	}
	return nil
}
