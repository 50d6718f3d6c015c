package rondo

// The kernel's part of a simulation: the behaviour of a loop that differs in a simulated world,
// where the order of everything must follow from a seed (driver.Simulation).
//
// The law: in the real world l.sim is nil, and each function here does nothing or uses the
// system. The heart calls these functions without asking which world it is in. Functions that
// it calls at each step are inlined and cost one comparison in the real world; so their
// simulated part is in separate functions.

import (
	"context"
	"slices"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/pace"
)

// simulation has the additional state of a loop in a simulated world.
type simulation struct {
	driver.Simulation
	id       func(i int) uint64 // the method taskAt of the loop's schedule
	putOff   []*Handle          // timers that queue delayed entries again; see runsNext
	contexts contextSet
}

// simulate prepares the loop for a simulated world, if the driver has one. The inbox must be open.
func (l *Loop) simulate() {
	world := l.driver.Simulation()
	if world == nil {
		return
	}
	l.sim = &simulation{Simulation: world, id: l.taskAt}
	l.counted, l.flight.off = true, true
	if l.pace.Share = pace.Operations * pace.Operation; world.DrawsShares() {
		l.pace.Share = pace.Operation
	}
	l.inbox.Simulate(func(p posted) uint64 { return uint64(p.call.when) }, l.takesPosts)
}

// taskAt returns the number of the task at index i of the queue. For a callback it returns
// driver.Line if the callback is one of the line (see lineUp), and otherwise 0.
func (s *schedule) taskAt(i int) uint64 {
	switch e := s.queue.At(i); {
	case e.task != nil:
		return e.task.id
	case e.call != nil && e.call.lined:
		return driver.Line
	}
	return 0
}

// postpones lets the world choose the entry that runs next, and reports whether the world has
// delayed that entry instead. When the last task has ended, callbacks run in their order.
func (l *Loop) postpones() bool { return l.sim != nil && l.live > 0 && !l.runsNext() }

// runsNext moves the entry that the world has chosen to the front of the queue, and reports
// whether it runs now. If not, the entry is put at the end of the queue, at once or at a
// later virtual time.
func (l *Loop) runsNext() bool {
	s := l.sim
	i, runs := s.Choose(l.batch+1, s.id)
	l.queue.Swap(0, i)
	if runs {
		return true
	}
	e := l.queue.Take()
	at := s.Until()
	if at <= l.now || l.helpers > 0 {
		l.queue.Add(e)
		return false
	}
	h := &Handle{loop: l, fn: func() { l.queue.Add(e) }, when: at}
	l.timers.Set(at, nil, h)
	s.putOff = append(slices.DeleteFunc(s.putOff, func(h *Handle) bool { return h.fn == nil }), h)
	return false
}

// endsShare reports whether the world wants other tasks to run before the next operation of t,
// the running task.
func (l *Loop) endsShare(t *Task) bool {
	return l.sim != nil && l.pace.Share == pace.Operation && l.sim.EndsShare(t.id)
}

// hurry queues all entries that runsNext has delayed until a later time, in two cases: while
// goroutines work for the loop, because virtual time then stands still, and once the world
// makes nothing late any more.
func (l *Loop) hurry() {
	if l.sim != nil {
		l.sim.hurry(l)
	}
}

func (s *simulation) hurry(l *Loop) {
	if len(s.putOff) == 0 || l.helpers == 0 && !s.Punctual() {
		return
	}
	for _, h := range s.putOff {
		fn := h.fn
		if fn == nil {
			continue
		}
		if h.fn = nil; h.timerIndex != 0 {
			l.timers.Remove(h.timerIndex)
		}
		fn()
	}
	s.putOff = s.putOff[:0]
}

// sleepUntil returns the time to pass to the driver's Poll: in the real world until itself. A
// simulated loop takes what goroutines have posted only when nothing else can run, and its
// virtual time does not pass while goroutines work for it.
func (l *Loop) sleepUntil(until int64) int64 {
	switch s := l.sim; {
	case s == nil:
	case until < 0:
		if l.queue.Len() == 0 && !l.inbox.Own() {
			return driver.Posted
		}
	case l.helpers > 0 && !s.Settles():
		return driver.Outside
	}
	return until
}

// jumps reports whether the loop has virtual time, which stands still while tasks run and jumps
// to the next timer when all wait. Then the loop sets no timers for purposes of its own.
func (l *Loop) jumps() bool { return l.sim != nil }

// mayBeLate reports whether a timer that is due at the same time as h, or earlier, may still
// fire after h, which fires now. In the real world that is so only if several timers are due at
// that time. A nil h stands for a timer that was not set because its time had passed.
func (l *Loop) mayBeLate(h *Handle) bool { return h == nil || h.tied || l.sim != nil }

// takesPosts reports whether the loop takes what goroutines have posted. The moment at which
// they post cannot be replayed. So the loop takes their posts when nothing else can run, or
// earlier if the world chooses that moment too.
func (l *Loop) takesPosts() bool {
	return l.queue.Len() == 0 || l.live == 0 || l.sim.Prompt()
}

// lineUp makes h one of the line: the callbacks of Post and CallSoon, which run in the order in
// which they were made although the world chooses the order of the queue. It reports
// whether the world is simulated; in the real world the queue has that order already.
func (l *Loop) lineUp(h *Handle) bool {
	h.lined = l.sim != nil
	return h.lined
}

// handedIn returns fn as another goroutine hands it in, as a result for the task with the number id
// or for none, and whether the caller is a part of the simulation.
func (l *Loop) handedIn(id uint64, fn func()) (p posted, own bool) {
	if l.sim == nil {
		return posted{fn: fn}, false
	}
	h := &Handle{loop: l, fn: fn, when: int64(id)}
	return posted{call: h}, id == 0 && l.lineUp(h) && l.fromWithin()
}

// inLine returns the callback to run when h has come to the front of the queue. That is h, or
// the first callback of the line if h is one of the line (internal/inbox).
func (l *Loop) inLine(h *Handle) *Handle {
	if h.lined {
		h = l.firstInLine()
	}
	return h
}

//go:noinline
func (l *Loop) firstInLine() *Handle { return l.inbox.Next().call }

// fromWithin reports whether the caller runs in the simulation of the loop, on this loop or on
// another one. Any goroutine may call it.
func (l *Loop) fromWithin() bool { return l.sim != nil && l.sim.Within() }

// sealed reports whether no goroutine and no other loop can wake the loop. Then a Future that
// was handed to them does not hide a deadlock.
func (l *Loop) sealed() bool { return l.sim != nil && l.sim.Alone() }

// offloaded lets the world call perform on a goroutine and then post. user is the function of the
// program that perform calls. If offloaded returns false, the caller must do it.
func (l *Loop) offloaded(user uintptr, call interface {
	perform()
	post()
}) bool {
	return l.sim != nil && l.sim.Offload(user, call.perform, call.post)
}

// refused returns err, with which a wait has failed at once. It tells the world, which ends the
// run if a task never stops calling functions that fail in this way.
func (l *Loop) refused(err error) error {
	if l.sim != nil {
		l.sim.Refused()
	}
	return err
}

// contains reports whether a panic of a handler, or of a task that it has started, becomes an
// error of the handler's call. In a simulation it does not unless Recover is set: a test must
// see the panic.
func (l *Loop) contains() bool { return l.runner.Recover || l.sim == nil }

// Handed tells a simulation that the calling task or callback hands v to another one. Package
// sim runs a seed twice and fails the test if the two runs hand over different values. A Queue
// calls Handed with each value that is put into it; call it in primitives of your own. It
// keeps no reference to v, never suspends, and is one atomic load if no runs are compared.
func Handed[T any](v T) {
	if driver.Compared.Load() != 0 {
		handsOver(v)
	}
}

// handsOver is the rest of Handed if two runs are compared somewhere in the process.
//
//go:noinline
func handsOver[T any](v T) {
	for _, l := range kernel.Loops() {
		if l.Inside() {
			if s := l.Driver().Simulation(); s != nil {
				s.HandsOver(v)
			}
			return
		}
	}
}

// watch watches ctx, whose Done channel is done, until stop is called. In the real world it calls
// after(post), so that post runs on another goroutine when ctx is cancelled. The moment of that
// call cannot be replayed. So a simulated loop looks at the channel itself, once a turn, and
// queues fn as a callback. wakers is 1 if the watch counts among what may wake the loop.
func (l *Loop) watch(ctx context.Context, done <-chan struct{}, fn, post func(), after func(fn func()) (stop func())) (stop func(), wakers int) {
	// A ctx with a deadline will wake the loop. A ctx without one may never be cancelled, so
	// it must not hide a deadlock.
	if _, has := ctx.Deadline(); has {
		wakers = 1
	}
	switch s := l.sim; {
	case s == nil:
		return after(post), wakers
	case !s.Settles():
		return s.contexts.add(done, fn), 0
	default: // ctx is on the loop's virtual clock, so its end must also wake the sleeping loop
		asleep := after(l.driver.Wake)
		unwatch := s.contexts.add(done, fn)
		return func() { asleep(); unwatch() }, wakers
	}
}

// lookAtContexts queues the callbacks of watched contexts that are cancelled.
func (l *Loop) lookAtContexts() {
	if l.sim != nil {
		l.sim.lookAtContexts(l)
	}
}

//go:noinline
func (s *simulation) lookAtContexts(l *Loop) {
	s.contexts.look(func(fn func()) { l.queue.Add(entry{call: &Handle{loop: l, fn: fn}}) })
}

// A contextSet has the contexts that a simulated loop looks at. The zero value is empty.
type contextSet []*contextWatch

// A contextWatch is the channel of a context, and the function to call when the context is
// cancelled.
type contextWatch struct {
	done <-chan struct{}
	fn   func() // nil once it was queued
}

// add watches the context with the channel done until stop is called.
func (s *contextSet) add(done <-chan struct{}, fn func()) (stop func()) {
	w := &contextWatch{done, fn}
	*s = append(*s, w)
	return func() { *s = slices.DeleteFunc(*s, func(other *contextWatch) bool { return other == w }) }
}

// look calls due with the function of each context that was cancelled since the last call.
func (s *contextSet) look(due func(fn func())) {
	for _, w := range *s {
		if w.fn == nil {
			continue
		}
		select {
		case <-w.done:
			due(w.fn)
			w.fn = nil
		default:
		}
	}
}
