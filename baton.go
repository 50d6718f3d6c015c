package rondo

// This file passes the baton: it moves control from the goroutine that
// suspends straight to the one that runs next. Nothing else in Rondo switches
// goroutines. Only worker.go, which makes the slots, touches iter.Pull besides.
//
// The law. A slot is one iter.Pull instance, seen as a place in which exactly one goroutine is
// parked. Its next and its yield both mean the same: park me here, and run the one that was
// parked here. So a goroutine that wants U to run swaps into the slot where U is parked,
// whichever that is; from then on it is parked there itself, and a goroutine that wants it back
// has to come there. With N slots there are N+1 goroutines, one running and one parked in each
// slot: the assignment is a permutation, and every swap is a step of it.
//
// Three things follow.
//
//   - next and yield of an instance must alternate, because iter.Pull checks
//     it; so a slot keeps one bool.
//   - The stop function of an instance is never called: it would resume a
//     goroutine that is not the one meant. A worker ends by returning. The
//     runtime then runs the goroutine that is parked in the slot of the worker's
//     birth.
//   - A panic or a Goexit that reached iter.Pull would come out in the goroutine
//     that is parked in that slot, which may be any task's. So a worker lets
//     neither through (see worker.perform).
//
// All of this is within the contract of iter.Pull: its functions may be called
// from different goroutines, though never at once. TestBatonPermutation drives
// it through millions of random transfers beside a model.

import "unsafe"

// direct is true if a task that suspends hands over straight to the one that runs
// next. With false every switch goes through the goroutine of Run, which resumes
// each task in turn: the plain way, with twice the switches and no assumption about
// iter.Pull beyond the usual. All tests pass with either.
const direct = true

type unit = struct{}

// A slot is one iter.Pull instance: a place in which exactly one goroutine is
// parked, except between its worker's end and the swap that never comes.
type slot struct {
	next  func() (unit, bool)
	yield func(unit) bool
	inner bool // the last switch was a next, so the next one is a yield
	over  bool // the life of the worker that was born in it is
}

// born returns the worker whose home the slot is.
func (s *slot) born() *worker {
	return (*worker)(unsafe.Add(unsafe.Pointer(s), -int(unsafe.Offsetof(worker{}.home))))
}

// swap parks the calling goroutine in s and runs the one that was parked there. It returns when
// another goroutine swaps into s in turn, or when the worker born in s has ended.
func (s *slot) swap() {
	if s.inner {
		s.inner = false
		s.yield(unit{})
	} else {
		s.inner = true
		s.next()
	}
}

// leave picks the task that runs next. If that is t itself, the running task, it
// returns nil. Otherwise it returns the slot to swap into, and notes that t is
// parked there from then on. After the swap comes arrive.
func (l *Loop) leave(t *Task) *slot {
	nx := l.pick(t == l.runTask)
	if nx == t {
		return nil
	}
	w := t.worker
	w.at = l.enter(nx, t == l.runTask)
	return w.at
}

// enter returns the slot to swap into so that nx runs, and notes that it does.
func (l *Loop) enter(nx *Task, fromRun bool) *slot {
	if nx.worker == nil && len(l.idle) == 0 && !fromRun && l.runTask.state == stateWaiting {
		l.unplaced, nx = nx, l.runTask // there are workers to be made; see grow
	}
	if nx.worker == nil {
		l.assign(nx)
	}
	w := nx.worker
	s := w.at
	if end := s.born(); l.surplus.N > 0 && direct && end.job == nil && end.at != nil {
		// That worker is idle. It ends on the way to nx: the runtime runs it, then nx.
		l.retire(end)
		s, end.at = end.at, nil
	}
	w.at, l.current = nil, nx
	if !direct {
		return l.throughRun(s, fromRun)
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
	if l.observer != nil {
		l.tell(taskRuns, t)
	}
}

// transfer gives the baton away, and returns when t, the running task, has it
// again. The swap stands between leave and arrive by hand, here as in park and
// Yield: after a switch the processor has lost track of the return addresses,
// and each function that is left on the way back costs it 8 ns.
func (l *Loop) transfer(t *Task) {
	if s := l.leave(t); s != nil {
		s.swap()
	}
	l.arrive(t)
}

// handOver gives the baton from t, the running task, to u, which waits for just
// that or has not started, past the queue. It returns when t has it again. That
// is no wait that would renew t's allowance.
func (l *Loop) handOver(t, u *Task) {
	if l.observer != nil {
		if u.state == stateWaiting {
			l.tell(taskWoken, u)
		}
		l.tell(taskParked, t)
	}
	w := t.worker
	s := l.enter(u, false)
	w.at = s
	if s.inner = !s.inner; s.inner { // swap, by hand
		s.next()
	} else {
		s.yield(unit{})
	}
	spent := w.spent
	l.arrive(t)
	w.spent = spent
}

// throughRun is the plain way to the slot s: for a task, by the slot in which
// the goroutine of Run is parked, l.runSlot. That goroutine goes on from there, to
// one task after the other, until the one that is picked is its own.
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
