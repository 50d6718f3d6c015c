package rondo

// This file has the only way in which any task ever waits. A sleep, a lock, a
// join, a socket: each is a WaitList, or none at all, and a rule for who wakes
// it. Because every wait comes through here and brings its reason, the picture
// that TaskInfo gives of a loop is complete by construction.

import (
	"context"

	"github.com/rondo-go/rondo/internal/gid"
)

// A Reason says what a task waits for. What is a fixed word such as "read" or
// "lock"; On is the number of the thing, if it has one: of a file descriptor
// or a task.
type Reason struct {
	What string
	On   uint64
}

// A WaitList holds the tasks that wait for one thing, in the order in which
// they came. Whatever can block is a WaitList and a rule for calling Wake. The
// zero value is ready.
//
// A task is in at most one list, and in one only while it is parked. Whoever
// ends its wait, be it Wake or the cancellation of its scope, takes it off the
// list before making it ready. So code after Park has nothing to clean up, and
// no Wake is spent on a task that has stopped listening. A WaitList belongs to
// the loop of the tasks that wait in it.
type WaitList struct {
	// Owner is the task that will end the wait, if it is known: the holder of a
	// lock. Of says what is waited for: a *string with its name, or the net.Addr
	// of a peer. Both serve only those who look at the program.
	Owner *Task
	Of    any

	// A list that is empty has a nil head. If its loop is watched, the tail then
	// still is the last who waited, by whom a caller from outside is found out.
	head, tail *worker
}

// Park suspends the calling task until Wake or WakeAll reaches it, and returns
// nil then. If ctx's scope is cancelled first it returns the cause. If it is
// cancelled already, Park returns the cause at once and has done nothing.
//
// A Wake that came first wins: a task that was woken before its scope was
// cancelled returns nil.
func (w *WaitList) Park(ctx context.Context, why Reason) error {
	s, t, err := enter(ctx, "Park")
	if err != nil {
		return err
	}
	w.push(t)
	return t.park(s, ctx, why)
}

// Wake makes the first task of the list ready and reports whether there was
// one. It never suspends.
func (w *WaitList) Wake() bool {
	if w.head == nil {
		if w.tail != nil {
			w.mustBeInside()
		}
		return false
	}
	w.head.job.wake(nil)
	return true
}

// WakeAll makes all tasks of the list ready, in their order, and reports how
// many they were. It never suspends.
func (w *WaitList) WakeAll() int {
	n := 0
	for w.Wake() {
		n++
	}
	return n
}

// Len counts the tasks in the list.
func (w *WaitList) Len() int {
	n := 0
	for t := w.head; t != nil; t = t.after {
		n++
	}
	return n
}

func (w *WaitList) push(t *Task) {
	p := t.worker
	p.list = w
	if w.head == nil {
		w.head = p
	} else {
		p.before = w.tail
		w.tail.after = p
	}
	w.tail = p
}

func (w *WaitList) remove(p *worker) {
	if p.before == nil {
		w.head = p.after
	} else {
		p.before.after = p.after
	}
	if p.after == nil {
		w.tail = p.before
	} else {
		p.after.before = p.before
	}
	p.list, p.before, p.after = nil, nil, nil
}

// park suspends t, the running task, until wake is called for it, and returns
// nil then, or the cause that ended the wait. Cancelling s ends it; a nil s
// means that nothing does. ctx is the one that the caller of the exported
// function gave: if it is not s itself, a context of the standard library
// between the two may end the wait as well.
func (t *Task) park(s *Scope, ctx context.Context, why Reason) error {
	l := t.scope.loop
	w := t.worker
	t.state, w.reason, w.under, w.since = stateWaiting, why, s, l.now
	if s != nil && (s.host != t || ctx != context.Context(s)) {
		return t.parkAbroad(s, ctx)
	}
	if s := l.leave(t); s != nil {
		if s.inner = !s.inner; s.inner {
			s.next()
		} else {
			s.yield(unit{})
		}
	}
	l.arrive(t)
	return t.outcome()
}

// parkAbroad is the rest of park where the cancellation comes from elsewhere
// than a scope of t's own.
func (t *Task) parkAbroad(s *Scope, ctx context.Context) error {
	if s.host != t {
		s.admit(t)
	}
	if _, own := ctx.(*Scope); !own {
		defer s.watchOutside(t, ctx)()
	}
	t.scope.loop.transfer(t)
	return t.outcome()
}

// outcome is what a wait that has ended returns.
func (t *Task) outcome() error {
	w := t.worker
	w.under = nil
	if v := w.cause; v != nil {
		w.cause = nil
		return v.cause
	}
	return nil
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

// wake ends the wait of t: it makes t ready, and park returns v's cause.
func (t *Task) wake(v *verdict) {
	w, l := t.worker, t.scope.loop
	if l.watch != nil {
		l.watch.guards()
	}
	list := w.list
	w.abandon()
	w.cause = v
	l.ready(t)
	if l.watch != nil {
		if list != nil {
			list.note(w)
		}
		l.watch.wakes(t)
	}
}

// note keeps p, who has waited in the list, as its tail if it is empty.
func (w *WaitList) note(p *worker) {
	if w.head == nil {
		w.tail = p
	}
}

// mustBeInside panics if the list is empty and belongs to a loop that lives and
// is not the caller's.
func (w *WaitList) mustBeInside() {
	if l := w.tail.loop; !l.inside() && !l.door.closed() {
		panic(l.strange())
	}
}

// abandon takes the worker off whatever its task waits for.
func (w *worker) abandon() {
	if w.list != nil {
		w.list.remove(w)
	}
	if w.alarm != 0 {
		w.loop.timers.remove(int(w.alarm) - 1)
	}
	if w.guest != 0 {
		w.under.seeOff(w)
	}
}

// yield lets everything else that is ready run once before t goes on.
func (t *Task) yield() {
	l := t.scope.loop
	l.ready(t)
	l.transfer(t)
}

// enter opens every function that takes a ctx and may suspend: it finds the
// scope that ctx names and the task that calls, and fails with the cause if the
// scope is cancelled. With any other error it gives no task.
func enter(ctx context.Context, call string) (*Scope, *Task, error) {
	s, ok := ctx.(*Scope)
	if ok && s.host.gid == gid.ID() && s.loop.current == s.host && s.verdict() == nil {
		// The usual case: the task itself, with the ctx of a scope that it is in.
		return s, s.host, nil
	}
	if s = scopeOf(ctx); s == nil {
		return nil, nil, misuse(call, ErrNoLoop)
	}
	return s.loop.enterWait(ctx, call)
}

// enterWait is enter for a loop that is known. ctx must belong to it.
func (l *Loop) enterWait(ctx context.Context, call string) (*Scope, *Task, error) {
	s, own := ctx.(*Scope)
	if !own {
		s = scopeOf(ctx)
	}
	if s == nil {
		return nil, nil, misuse(call, ErrNoLoop)
	}
	if s.loop != l {
		return nil, nil, misuse(call, errOtherLoop)
	}
	if !l.inside() {
		return nil, nil, l.misuseOutside(call)
	}
	t := l.current
	if t == nil {
		panic("rondo: " + call + " in a callback: callbacks must not wait; start a task with Go")
	}
	s = t.stands(s)
	if v := s.sentence(); v != nil {
		return s, t, v.cause
	}
	if !own && ctx.Err() != nil {
		return s, t, context.Cause(ctx)
	}
	return s, t, nil
}
