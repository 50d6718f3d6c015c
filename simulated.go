package rondo

// The kernel's side of a simulation: what a loop does only because its world is simulated,
// so that a seed repeats it (driver.Simulation).
//
// The law: in the real world sim is nil, and each function here does nothing or what the
// system does. The heart calls these functions and does not ask which world it is in. What
// it calls at each step is inlined and costs the real world one comparison; so the rest
// stands in functions of its own, which are not inlined.

import (
	"context"
	"slices"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/pace"
)

// simulation is what a loop in a simulated world has besides.
type simulation struct {
	driver.Simulation
	id       func(i int) uint64 // the number of the task at place i of the queue
	putOff   []*Handle          // those that put back into the queue what runs at a time
	contexts contextSet
}

// simulate prepares the loop for its world, if that is simulated. The inbox is open.
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
	l.inbox.Simulate(func(e entry) uint64 { return uint64(e.call.when) }, l.takesPosts)
}

// taskAt returns the number of the task at place i of the queue. For a callback it is 0,
// or driver.Line.
func (s *schedule) taskAt(i int) uint64 {
	switch e := s.queue.At(i); {
	case e.task != nil:
		return e.task.id
	case e.call != nil && e.call.lined:
		return driver.Line
	}
	return 0
}

// postpones lets the world choose what comes first in the queue, and reports whether that
// was put off. When the last task has ended, the world decides only what comes in when.
func (l *Loop) postpones() bool { return l.sim != nil && l.live > 0 && !l.runsNext() }

// runsNext moves what the world has chosen to the front of the queue and reports whether
// it runs. If not, it is put at the end, at once or when the world says.
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

// endsShare reports whether the world lets others have a turn before the next operation of t, the
// running task.
func (l *Loop) endsShare(t *Task) bool {
	return l.sim != nil && l.pace.Share == pace.Operation && l.sim.EndsShare(t.id)
}

// hurry makes ready what is put off until a time, if goroutines work for the loop, because
// that time does not come while they do, or if nothing is late any more.
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

// sleepUntil returns until when the loop may sleep, which is until in the real world. A
// simulated loop asks its driver for what goroutines have handed in only when nothing else
// can run, and its time does not pass while real work goes on for it.
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

// jumps reports whether the loop's time stands still while tasks run, and jumps when they
// wait. Then nothing but what the tasks wait for has a time.
func (l *Loop) jumps() bool { return l.sim != nil }

// mayBeLate reports whether another timer of that instant, or an earlier one, may fire
// after h, the timer that fires. In the real world none does if h fires alone. A nil h was
// not set, because its instant had passed.
func (l *Loop) mayBeLate(h *Handle) bool { return h == nil || h.tied || l.sim != nil }

// takesPosts reports whether the loop takes what goroutines hand in. It does when nothing
// else can run: the moment at which they come is no part of a schedule that can be
// replayed, unless the loop waits for them or the world chooses it too.
func (l *Loop) takesPosts() bool {
	return l.queue.Len() == 0 || l.live == 0 || l.sim.Prompt()
}

// lineUp makes h, a callback that runs in the order of the calls, one of the line. It
// reports whether the world is simulated.
func (l *Loop) lineUp(h *Handle) bool {
	h.lined = l.sim != nil
	return h.lined
}

// inLine returns the callback that runs where h has come to the front of the queue: h, or
// the first of the line if h has a place there (internal/inbox).
func (l *Loop) inLine(h *Handle) *Handle {
	if h.lined {
		h = l.firstInLine()
	}
	return h
}

//go:noinline
func (l *Loop) firstInLine() *Handle { return l.inbox.Next().call }

// fromWithin reports whether the caller is a part of the loop's simulation. Any goroutine
// may ask.
func (l *Loop) fromWithin() bool { return l.sim != nil && l.sim.Within() }

// sealed reports whether nobody outside the loop has a part in its world: then what was
// handed out wakes nothing.
func (l *Loop) sealed() bool { return l.sim != nil && l.sim.Alone() }

// offloaded lets the world run fn, which calls user, and then back. It reports whether the
// world does that.
func (l *Loop) offloaded(user uintptr, fn, back func()) bool {
	return l.sim != nil && l.sim.Offload(user, fn, back)
}

// refused says to the world that a wait failed at once, with err, and returns err. A
// task that goes on all the same would keep the loop for ever.
func (l *Loop) refused(err error) error {
	if l.sim != nil {
		l.sim.Refused()
	}
	return err
}

// contains reports whether a panic of a function that is called for someone else, or of a task
// that it has started, is an error of that call. A simulation is a test, which must see a
// panic.
func (l *Loop) contains() bool { return l.runner.Recover || l.sim == nil }

// Handed says that the calling task or callback hands v to another one, as a Queue does with
// each value that is put into it: two runs of one seed in package sim must hand over the same.
// A primitive of your own may call it. It keeps nothing of v, and costs next to nothing where
// no runs are compared.
func Handed[T any](v T) {
	if driver.Compared.Load() != 0 {
		handsOver(v)
	}
}

// handsOver is Handed if some simulation is compared with another run.
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

// watch calls fn on the loop, or by after post on another goroutine, when ctx, of which done is
// the channel, is cancelled, unless stop comes first; and it returns how many wakers that is. When
// a goroutine calls post cannot be repeated. So a simulated loop looks at the channel itself, once
// a turn, and makes fn a callback.
func (l *Loop) watch(ctx context.Context, done <-chan struct{}, fn, post func(), after func(fn func()) (stop func())) (stop func(), wakers int) {
	// A ctx that can only be cancelled does not hide a deadlock; one with a deadline
	// will wake the loop.
	if _, has := ctx.Deadline(); has {
		wakers = 1
	}
	switch s := l.sim; {
	case s == nil:
		return after(post), wakers
	case !s.Settles():
		return s.contexts.add(done, fn), 0
	default: // the clock of ctx is the loop's, so its end also ends the loop's sleep
		asleep := after(l.driver.Wake)
		unwatch := s.contexts.add(done, fn)
		return func() { asleep(); unwatch() }, wakers
	}
}

// lookAtContexts makes ready what the contexts that are cancelled were watched for.
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
	fn   func() // nil once it is due
}

// add watches the context with the channel done until stop is called.
func (s *contextSet) add(done <-chan struct{}, fn func()) (stop func()) {
	w := &contextWatch{done, fn}
	*s = append(*s, w)
	return func() { *s = slices.DeleteFunc(*s, func(other *contextWatch) bool { return other == w }) }
}

// look calls due with the function of each context that was cancelled since the last look.
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
