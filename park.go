package rondo

// Parking is the only way in which a task waits. A sleep, a lock, a join, a socket: each is
// a WaitList, or none at all, and a rule for who wakes it. Because every wait comes through
// here and brings its reason, what TaskInfo shows of a loop is complete by construction.

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/rondo-go/rondo/internal/list"
	"github.com/rondo-go/rondo/internal/nocopy"
	"github.com/rondo-go/rondo/internal/pace"
	"github.com/rondo-go/rondo/internal/stacks"
)

// A Reason says what a task waits for. What is a fixed word such as "read" or "lock"; On
// is the number of the thing, if it has one: of a file descriptor or a task.
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
// they came. Build your own primitives on it: all that can block is a WaitList and
// a rule for calling Wake. The zero value is ready.
//
// A task is in at most one list, in a Select in one for each case, and only while it is
// parked. Wake, and the cancellation of its scope, take it off all lists before they
// make it ready. So code after Park has nothing to clean up, and no Wake is spent on a
// task that has stopped waiting. A list belongs to the loop of the tasks in it.
type WaitList struct {
	_ nocopy.Field

	// Owner is the task that will end the wait, if it is known: the holder of a
	// lock. Of says what is waited for: a *string with its name, or the net.Addr
	// of a peer. Both are only shown to people who look at the program.
	Owner *Task
	Of    any

	waiting list.List[waiter]
	n       int     // how many are waiting
	last    *worker // with an observer: the last that waited; see mustBeInside
}

// A waiter is a place in a WaitList. A worker has one, for the one thing that its
// task waits for, and one for each case of a Select.
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

// remove takes p, which is in the list, out of it.
func (w *WaitList) remove(p *waiter) {
	p.list = nil
	w.n--
	w.waiting.Remove(p, waitLinks)
}

// Park suspends the calling task until Wake or WakeAll reaches it, and returns
// nil then. If ctx's scope is cancelled first it returns the cause. If it is
// cancelled already, Park returns the cause at once and has done nothing.
//
// A Wake that came first wins: a task that was woken before its scope was
// cancelled returns nil.
func (w *WaitList) Park(ctx context.Context, why Reason) error {
	s, t, err := enter(ctx)
	if err != nil {
		return err
	}
	w.push(t)
	return t.park(s, ctx, why)
}

// Wake makes the first task of the list ready and reports whether there was
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

// WakeAll makes all tasks of the list ready, in their order, and reports how
// many they were. It never suspends.
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

// release wakes all that wait in a list of newWaitList, which is not used any more, and
// reports whether there were any.
func (l *Loop) release(w *WaitList) (waited bool) {
	waited = w.WakeAll() > 0
	w.Owner, w.last, l.spare = nil, nil, w
	return waited
}

// Len counts the tasks in the list.
func (w *WaitList) Len() int { return w.n }

// push puts t at the end of the list. It is not inlined, because its variables would
// be on the stack of every task that waits.
//
//go:noinline
func (w *WaitList) push(t *Task) { w.add(&t.worker.waiter) }

// A selection is the wait of a task in a Select. A worker keeps it for the next one.
type selection struct {
	places []place // by the index of the case
	woken  *waiter // the place whose list has woken the task
	timer  int     // the case whose timer was set; -1: none
}

// A place is that of one case in its list.
type place struct {
	waiter
	why   Reason
	begun bool // End is to be called
}

// withdraw takes the task off all lists.
func (s *selection) withdraw() {
	for i := range s.places {
		if p := &s.places[i]; p.list != nil {
			p.list.remove(&p.waiter)
		}
	}
}

// park suspends t, the running task, until wake is called for it, and returns nil then,
// or the cause that ended the wait. Cancelling s ends it; a nil s means that nothing
// does. ctx is the one that the caller of the exported function gave: if it is not s
// itself, a context of the standard library between the two may end the wait as well.
func (t *Task) park(s *Scope, ctx context.Context, why Reason) error {
	l := t.scope.loop
	w := t.worker
	t.state, w.reason, w.under, w.since = stateWaiting, why, s, l.now
	if s != nil && (s.host != t || ctx != context.Context(s)) {
		return t.parkForeign(s, ctx)
	}
	if s := l.depart(t); s != nil { // swap, by hand
		if s.inner = !s.inner; s.inner {
			s.next()
		} else {
			s.yield(unit{})
		}
	}
	l.arrive(t)
	return t.outcome()
}

// parkForeign is the rest of park where the cancellation comes from elsewhere
// than a scope of t's own: from the scope of another task, or a context of the
// standard library, for which a scope is opened that lasts as long as the wait.
func (t *Task) parkForeign(s *Scope, ctx context.Context) error {
	if _, own := ctx.(*Scope); !own {
		defer t.between(s, ctx).end()
	} else if s.host != t {
		s.addForeign(t)
	}
	t.scope.loop.transfer(t)
	return t.outcome()
}

// between opens the scope of a wait of t. Methods of ctx are called, which may be the program's:
// they cannot wait, and if one panics, t does not wait any more.
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
	t.worker.under = between // first: begin wakes t if ctx has just been cancelled
	between.begin(l, s, ctx)
	begun = true
	return between
}

// outcome is what a wait that has ended returns.
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

// wake ends the wait of t: it makes t ready, and park returns c's cause.
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

// noteLast notes in what w waits for that it was the last there.
func (w *worker) noteLast() {
	if w.list != nil {
		w.list.last = w
	}
	for p := range w.selection.listed() {
		p.list.last = w
	}
}

// mustBeInside panics if the list is empty and belongs to a loop that lives and
// is not the caller's. The last that waited tells which loop that is.
func (w *WaitList) mustBeInside() {
	if l := w.last.loop; !l.inside() && !l.inbox.Closed() {
		panic(l.wrongGoroutine())
	}
}

// abandon takes the worker off whatever its task waits for.
func (w *worker) abandon() {
	if w.list != nil { // in line: a call here costs a quarter of a Queue's time
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

// yield lets everything else that is ready run once before t goes on.
func (t *Task) yield() {
	l := t.scope.loop
	l.ready(t)
	l.transfer(t)
}

// checkpoint is enter for an operation that may find what it wants at once, and counts as n. If
// the task has had its share the others have a turn first.
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

// affords counts n operations of the running task, and reports whether it may do them now.
func (w *worker) affords(l *Loop, n uint32) bool {
	w.spent += n * pace.Operation
	return w.spent < l.pace.Share
}

// pays counts an operation of t, the running task of l. If it has had its share, the others have a
// turn first, and pays reports true.
func (t *Task) pays(l *Loop) bool { return !t.worker.affords(l, 1) && t.settle() }

// settle gives the others a turn if it is time, and reports whether it was.
//
//go:noinline
func (t *Task) settle() bool {
	w, l := t.worker, t.scope.loop
	done := w.spent / pace.Operation
	if l.jumps() {
		if done < pace.Operations && !l.endsShare(t) {
			return false
		}
		w.spent %= pace.Operation
	} else {
		w.spent %= pace.Operation
		if !l.pace.IsTurn(done, l.driver.Now()) {
			return false
		}
		l.pace.Look = 0 // the others are also who is known only when the driver was asked
	}
	t.yield()
	return true
}

// enter opens every function that takes a ctx and may suspend: it finds the scope that
// ctx names and the task that calls, and fails with the cause if the scope is cancelled.
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

// enterFrom is enter for a wait for something of l, which may come from outside l: then
// no task is returned.
func (l *Loop) enterFrom(ctx context.Context) (*Scope, *Task, error) {
	if s := usual(ctx); s != nil && s.loop == l {
		return s, s.host, nil
	}
	if !l.inside() {
		return nil, nil, nil
	}
	return l.enterWait(ctx)
}

// enterWait is enter for a loop that is known. ctx must belong to it.
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

// locate is enter that goes ahead in a cancelled scope.
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

// addForeign notes that t waits under s, which it does not host: it was given the
// ctx of another task. removeForeign undoes it.
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

// effectiveScope returns the scope whose cancellation ends a wait of t that was
// given a ctx of s. That is s, but for a confined task: a wait with a ctx from
// above it is ended by the task's own scope.
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
