package rondo

// Parking is the only way in which a task waits. A sleep, a lock, a join, a socket: each is
// a rule for calling wake, and a WaitList if several tasks may wait. Because every wait passes
// a Reason to park, TaskInfo can say of every waiting task what it waits for. Three waits do the
// same without a call of park, because each function that returns after a switch costs some 8 ns:
// WaitList.Park; ParkTask in hooks.go, for connections; and the tasks of a Pull, which hand control
// to each other by waitFor in pull.go and handOver in baton.go.

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/rondo-go/rondo/internal/list"
	"github.com/rondo-go/rondo/internal/nocopy"
	"github.com/rondo-go/rondo/internal/pace"
	"github.com/rondo-go/rondo/internal/stacks"
)

// A Reason says what a task waits for. Its field What is a fixed word such as "read" or
// "lock". Its field On is the number of a file descriptor or of a task, or 0.
type Reason struct {
	What string
	On   uint64
}

// String returns the reason in words.
func (r Reason) String() string {
	if r.On == 0 {
		return r.What
	}
	return fmt.Sprintf("%s %d", r.What, r.On)
}

// A WaitList holds the tasks that wait for one thing, in the order in which
// they came. Build your own primitives on it: a lock or a queue is some state, a WaitList,
// and a rule for calling Wake. The zero value is ready to use.
//
// A task is in a list only while it is parked: in one list, or during a Select in one list
// for each case. Wake, and the cancellation of its scope, remove it from all lists before
// they make it ready. So code after Park has nothing to clean up, and no Wake is lost on a
// task that has stopped waiting. A list belongs to the loop of the tasks in it.
type WaitList struct {
	_ nocopy.Field

	// Owner is the task that will end the waits, such as the holder of a lock; nil if it
	// is not known. Of names the thing that tasks wait for: a *string with its name, or the
	// net.Addr of a peer. Both are used only to describe waits, in TaskInfo, deadlock
	// reports and package inspect.
	Owner *Task
	Of    any

	waiting list.List[waiter]
	n       int     // how many are waiting
	last    *worker // with an observer: the last worker whose wait ended; see mustBeInside
}

// A waiter is an element of a WaitList. A worker has one for the waits of its task, and one
// more for each case of a Select.
type waiter struct {
	worker *worker
	list   *WaitList          // nil while it is in none
	links  list.Links[waiter] // its neighbours in list
}

const waitLinks = unsafe.Offsetof(waiter{}.links)

func (w *WaitList) add(p *waiter) {
	p.list = w
	w.n++
	w.waiting.Add(p, waitLinks)
}

// remove removes p, which is in w.
func (w *WaitList) remove(p *waiter) {
	p.list = nil
	w.n--
	w.waiting.Remove(p, waitLinks)
}

// Park suspends the calling task until Wake or WakeAll reaches it, and then returns
// nil. If ctx is cancelled first, Park returns the cause. If ctx is cancelled
// already, Park returns the cause at once and does not suspend.
//
// If a task is woken before its scope is cancelled, Park returns nil, even if the task runs
// only after the cancellation.
func (w *WaitList) Park(ctx context.Context, why Reason) error {
	s := usual(ctx)
	if s == nil {
		return w.parkSlowly(ctx, why)
	}
	l, t := s.loop, s.host
	w.push(t)
	t.waits(s, why)
	if at := l.depart(t); at != nil { // swap, inlined
		if at.inner = !at.inner; at.inner {
			at.next()
		} else {
			at.yield(unit{})
		}
	}
	l.arrive(t)
	return t.outcome()
}

// parkSlowly is Park with a ctx that is not the scope in which the caller runs.
//
//go:noinline
func (w *WaitList) parkSlowly(ctx context.Context, why Reason) error {
	s, t, err := enter(ctx)
	if err != nil {
		return err
	}
	w.push(t)
	return t.park(s, ctx, why)
}

// Wake removes the first task from the list and makes it ready. It reports whether there was
// one. It never suspends.
func (w *WaitList) Wake() bool {
	first := w.waiting.First()
	if first == nil {
		if w.last != nil {
			w.mustBeInside()
		}
		return false
	}
	if s := first.worker.selection; s != nil {
		s.woken = first
	}
	first.worker.job.wake(nil)
	return true
}

// WakeAll makes all tasks of the list ready, in the order of the list, and returns their
// number. It never suspends.
func (w *WaitList) WakeAll() int {
	n := 0
	for ; w.waiting.First() != nil; n++ {
		w.Wake()
	}
	if w.last != nil {
		w.mustBeInside()
	}
	return n
}

// release wakes all tasks in w, which comes from newWaitList, and keeps w for the next call
// of newWaitList: the caller must not use it any more. It reports whether any task waited.
func (l *Loop) release(w *WaitList) (waited bool) {
	waited = w.WakeAll() > 0
	w.Owner, w.last, l.spare = nil, nil, w
	return waited
}

// Len counts the tasks in the list.
func (w *WaitList) Len() int { return w.n }

// push puts t at the end of the list. It is not inlined: its variables would take stack
// space of every task that waits.
//
//go:noinline
func (w *WaitList) push(t *Task) { w.add(&t.worker.waiter) }

// A selection is the wait of a task in a Select. A worker reuses it for its next Select.
type selection struct {
	places []place // by the index of the case
	woken  *waiter // the element by which Wake found the task; nil if none did
	timer  int     // index of the case whose timer is set; -1: none
}

// A place is the element of one case in the WaitList of that case.
type place struct {
	waiter
	why   Reason
	begun bool // the case has begun to wait, so its End must be called
}

// withdraw removes the task from the lists of all cases.
func (s *selection) withdraw() {
	for i := range s.places {
		if p := &s.places[i]; p.list != nil {
			p.list.remove(&p.waiter)
		}
	}
}

// park suspends t, the running task, until wake is called for it. It returns nil, or the
// cause if a cancellation ended the wait. The cancellation of s ends the wait; if s is nil,
// none does. ctx is the argument of the exported function that was called, and s is the
// scope found in it. If ctx is not s itself, it is a context of the standard library made
// from s, and its cancellation ends the wait as well.
func (t *Task) park(s *Scope, ctx context.Context, why Reason) error {
	if s != nil && (s.host != t || ctx != context.Context(s)) {
		return t.parkForeign(s, ctx, why)
	}
	l := t.scope.loop
	t.waits(s, why)
	if at := l.depart(t); at != nil { // swap, inlined
		if at.inner = !at.inner; at.inner {
			at.next()
		} else {
			at.yield(unit{})
		}
	}
	l.arrive(t)
	return t.outcome()
}

// waits records that t waits, for what, and which scope's cancellation ends the wait. It is
// inlined: a frame more below a wait can give each waiting task a stack of twice the size.
func (t *Task) waits(s *Scope, why Reason) {
	w := t.worker
	t.state, w.reason, w.under, w.since = stateWaiting, why, s, t.scope.loop.now
}

// parkForeign is the rest of park if the wait can be ended by the scope of another task or by
// a context of the standard library. For such a context it opens a scope for the time of the
// wait.
func (t *Task) parkForeign(s *Scope, ctx context.Context, why Reason) error {
	t.waits(s, why)
	if _, own := ctx.(*Scope); !own {
		defer t.between(s, ctx).end()
	} else if s.host != t {
		s.addForeign(t)
	}
	t.scope.loop.transfer(t)
	return t.outcome()
}

// between opens the scope of a wait of t, between s and ctx. It calls methods of ctx, which may
// be code of the program. They must not wait: l.current is nil meanwhile, so a wait panics as in
// a callback. If a method panics, t is not waiting any more.
//
//go:noinline
func (t *Task) between(s *Scope, ctx context.Context) *Scope {
	l, begun := s.loop, false
	l.current = nil
	defer func() {
		if l.current = t; !begun {
			l.markUnwinding(t)
		}
	}()
	between := &Scope{host: t}
	t.worker.under = between // before begin, which wakes t if ctx is already cancelled
	between.begin(l, s, ctx)
	begun = true
	return between
}

// outcome returns the result of the wait of t, which has ended: nil, or the cause of the
// cancellation that ended it.
func (t *Task) outcome() error {
	w := t.worker
	s := w.under
	w.under = nil
	if c := w.cause; c != nil {
		w.cause = nil
		if x := t.rest(); x != nil && x.satisfied != nil && x.satisfied() {
			return nil
		}
		s.noteCut(c)
		return c.cause
	}
	return nil
}

// wake ends the wait of t and makes t ready. park returns the cause of c, or nil if c is nil.
func (t *Task) wake(c *cancellation) {
	w, l := t.worker, t.scope.loop
	if l.observer != nil {
		l.tell(wakeBegins, t)
		w.noteLast()
	}
	w.abandon()
	w.cause, w.cost.Waker = c, uint32(l.currentID())
	t.woken = true
	l.ready(t)
	if l.observer != nil {
		l.tell(taskWoken, t)
	}
}

// noteLast sets the field last of each list that w is in.
func (w *worker) noteLast() {
	if w.list != nil {
		w.list.last = w
	}
	for p := range w.selection.listed() {
		p.list.last = w
	}
}

// mustBeInside panics if the caller is not on the loop that the list belongs to, and that loop
// has not ended. It is called for an empty list. Such a list does not know its loop, but the
// last worker that waited in it does.
func (w *WaitList) mustBeInside() {
	if l := w.last.loop; !l.inside() && !l.inbox.Closed() {
		panic(l.wrongGoroutine())
	}
}

// abandon removes the worker from every list, timer and scope at which its task waits.
func (w *worker) abandon() {
	if w.list != nil { // tested here: a call for it would make a Queue slower by a quarter
		w.list.remove(&w.waiter)
	}
	if w.selection != nil {
		w.selection.withdraw()
	}
	if w.timerIndex != 0 {
		w.loop.timers.Remove(w.timerIndex)
	}
	if w.foreignIndex != 0 {
		w.under.removeForeign(w)
	}
}

// yield lets every other ready task and callback run once before t goes on.
func (t *Task) yield() {
	l := t.scope.loop
	l.putBack(t)
	l.transfer(t)
}

// checkpoint is enter for an operation that may succeed without waiting, and that counts as n
// operations. If the task has used up its share, other tasks run first (see pays).
func checkpoint(ctx context.Context, n uint32) (*Scope, *Task, error) {
	if s := usual(ctx); s != nil && s.host.worker.affords(s.loop, n) {
		return s, s.host, nil
	}
	return checkpointSlowly(ctx)
}

//go:noinline
func checkpointSlowly(ctx context.Context) (*Scope, *Task, error) {
	s, t, err := enter(ctx)
	if err == nil && t.pays(s.loop) {
		return enter(ctx)
	}
	return s, t, err
}

// affords counts n operations of the running task, and reports whether they are within its
// share of the turn.
func (w *worker) affords(l *Loop, n uint32) bool {
	w.spent += n * pace.Operation
	return w.spent < l.pace.Share
}

// pays counts one operation of t, the running task of l. If t has used up its share, pays lets
// other tasks run first and returns true.
func (t *Task) pays(l *Loop) bool { return !t.worker.affords(l, 1) && t.settle() }

// settle is called when t has done as many operations as l.pace.Share allows. If t has run for
// long enough, or if endsShare says so, it yields and returns true.
//
//go:noinline
func (t *Task) settle() bool {
	w, l := t.worker, t.scope.loop
	done := w.spent / pace.Operation
	if l.jumps() {
		if done < pace.Operations && !l.endsShare(t) {
			return false
		}
	} else {
		w.spent %= pace.Operation
		if !l.pace.IsTurn(done, l.driver.Now()) {
			return false
		}
		l.pace.Look = 0 // ask the driver too: tasks that it wakes also get their turn
	}
	t.yield()
	return true
}

// enter is called first by every function that takes a ctx and may suspend. It returns the
// scope that ctx names and the calling task. If the scope is cancelled, the error is the cause.
func enter(ctx context.Context) (*Scope, *Task, error) {
	if s := usual(ctx); s != nil {
		return s, s.host, nil
	}
	s := scopeOf(ctx)
	if s == nil {
		return nil, nil, misuse(ErrNoLoop)
	}
	return s.loop.enterWait(ctx)
}

// enterFrom is enter for a wait for something that belongs to l. If the caller is not on l,
// enterFrom returns no task and no error.
func (l *Loop) enterFrom(ctx context.Context) (*Scope, *Task, error) {
	if s := usual(ctx); s != nil && s.loop == l {
		return s, s.host, nil
	}
	if l == nil {
		l.mustBeInside(stacks.CalledAs())
	}
	if !l.inside() {
		return nil, nil, nil
	}
	return l.enterWait(ctx)
}

// enterWait is enter for a caller that must be on l, with a ctx that must belong to l.
func (l *Loop) enterWait(ctx context.Context) (*Scope, *Task, error) {
	s, t, err := l.locate(ctx)
	if err != nil {
		return nil, nil, err
	}
	if c := s.cancelled(); c != nil && !detached(ctx) {
		s.noteCut(c)
		return s, t, l.refused(c.cause)
	}
	if ctx.Err() != nil {
		return s, t, l.refused(context.Cause(ctx))
	}
	return s, t, nil
}

// locate is enter without the check for cancellation.
func locate(ctx context.Context) (*Scope, *Task, error) {
	s := scopeOf(ctx)
	if s == nil {
		return nil, nil, misuse(ErrNoLoop)
	}
	return s.loop.locate(ctx)
}

func (l *Loop) locate(ctx context.Context) (*Scope, *Task, error) {
	s := scopeOf(ctx)
	if s == nil {
		return nil, nil, misuse(ErrNoLoop)
	}
	if s.loop != l {
		return nil, nil, misuse(errOtherLoop)
	}
	if !l.inside() {
		return nil, nil, l.misuseOutside(stacks.CalledAs())
	}
	if l.current == nil {
		panic("rondo: " + stacks.CalledAs() + " in a callback: callbacks must not wait; start a task with Go")
	}
	return l.current.effectiveScope(s), l.current, nil
}

// addForeign records that t waits with the ctx of s, a scope that another task has opened.
// removeForeign undoes it.
func (s *Scope) addForeign(t *Task) {
	x := s.ensureExtra()
	x.foreignWaiters = append(x.foreignWaiters, t.worker)
	t.worker.foreignIndex = int32(len(x.foreignWaiters))
}

func (s *Scope) removeForeign(w *worker) {
	x := s.extra
	last := len(x.foreignWaiters) - 1
	moved := x.foreignWaiters[last]
	x.foreignWaiters[w.foreignIndex-1], moved.foreignIndex = moved, w.foreignIndex
	x.foreignWaiters[last] = nil
	x.foreignWaiters = x.foreignWaiters[:last]
	w.foreignIndex = 0
}

// effectiveScope returns the scope whose cancellation ends a wait of t with the ctx of s. That
// is s, except for a confined task (see Map): if s is above the task's own scope, a wait ends
// when the task's own scope is cancelled.
func (t *Task) effectiveScope(s *Scope) *Scope {
	if t.extra == nil || !t.extra.confined {
		return s
	}
	for above := t.scope.parent; above != nil; above = above.parent {
		if above == s {
			return &t.scope
		}
	}
	return s
}
