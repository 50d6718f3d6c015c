package rondo

// The baton is control over the loop. It moves from the goroutine that suspends straight to
// the one that runs next. Nothing else in Rondo switches goroutines, and only worker.go,
// which makes the slots, uses iter.Pull too.
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

import (
	"unsafe"

	"github.com/rondo-go/rondo/internal/prefetch"
)

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

// swap parks the calling goroutine in s and runs the one that was parked there. It returns
// when another goroutine swaps into s in turn, or when the worker born in s has ended.
//
// Where a task suspends, swap is written out by hand, five times: after a switch the processor
// has lost track of the return addresses, and each function that is left on the way back
// costs it 7 to 10 ns. With calls, a switch between two tasks takes 76 ns in place of 66 on Go
// 1.26, and 77 in place of 70 on Go 1.27: two indirect calls are too much for the compiler
// to inline, and a profile would have to come from the program's main package.
func (s *slot) swap() {
	if s.inner {
		s.inner = false
		s.yield(unit{})
	} else {
		s.inner = true
		s.next()
	}
}

// depart picks the task that runs next. If that is t itself, the running task, it
// returns nil. Otherwise it returns the slot to swap into, and notes that t is
// parked there from then on. After the swap comes arrive.
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

// next is depart for the usual case: the task that stands first in the queue is parked, and it
// is not time for anything else. With back it calls ready(t) first, in effect. In all other
// cases it returns nil, and has done nothing. The order of the tasks and what is counted are
// those of pick (TestNextIsPick); a switch between two tasks takes 66 ns in place of 73.
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

// slotFor returns the slot to swap into so that nx runs, and notes that it does.
func (l *Loop) slotFor(nx *Task, fromRun bool) *slot {
	if nx.worker == nil && len(l.idle) == 0 && !fromRun && l.runTask.state == stateWaiting {
		l.unplaced, nx = nx, l.runTask // there are workers to be made; see grow
	}
	if nx.worker == nil {
		l.assign(nx)
	}
	w := nx.worker
	s := w.at
	if end := s.born(); l.surplus.n > 0 && direct && end.job == nil && end.at != nil {
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

// transfer gives the baton away, and returns when t, the running task, has it again.
func (l *Loop) transfer(t *Task) {
	if s := l.depart(t); s != nil {
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
	s := l.slotFor(u, false)
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
