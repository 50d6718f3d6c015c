package rondo

// This file has the task: one call of a function, running as a coroutine of its
// loop. Its life is a line: new, then ready, running and waiting in turns, then
// done; finish is the only way into the last.

import (
	"context"
	"errors"
	"strconv"
)

// state is what a task is doing. At any moment each live task is either new or
// ready, and then in the loop's queue once; or running, and there is one such
// task at most; or waiting, and then in at most one WaitList.
type state uint8

const (
	stateNew state = iota
	stateReady
	stateRunning
	stateWaiting
	stateDone
)

func (s state) String() string {
	return [...]string{"new", "ready", "running", "waiting", "done"}[s]
}

// A Task is one call of a function, run by a loop in turns with its other
// tasks. It switches only where the function waits. Its methods, Wait and
// Cancel apart, may be called only on the loop it belongs to.
type Task struct {
	worker *worker // what runs it; nil before its start and after its end
	gid    uint64  // the number of its goroutine, once it has started
	state  state
	heard  bool // somebody waits for its error, or has it

	scope Scope // the task's own scope: the ctx its function gets

	owner   *Scope // the scope that answers for it and waits for its end
	next    *Task  // its neighbours in the loop's ring
	prev    *Task
	fn      func(ctx context.Context) error
	err     error
	joiners WaitList
	rare    *rare
	id      uint64
	parent  uint64
	born    int64
}

// rare is what few tasks have.
type rare struct {
	name    *string         // behind a pointer, so that who looks from outside never sees half of it
	ended   func(err error) // what Async does with the task's end
	entry   uintptr         // the user's function, if fn is one of Rondo's around it
	site    *site           // where the task was started; nil without Debug
	calls   calls           // of OnDone
	unheard *unheard        // its error, as long as nobody has it
	input   bool            // it ranges over somebody's sequence; see Task.stands
}

func (t *Task) more() *rare {
	if t.rare == nil {
		t.rare = new(rare)
	}
	return t.rare
}

// Go starts fn in a task of its own, in the scope of ctx: of the Group, Timeout,
// Deadline or Shield that encloses the caller most closely, or else the loop's
// root scope. The task runs for the first time in the next turn. Its error goes
// to its scope; one in the root scope for which nobody waits goes to the
// Runner's OnError.
//
// Go never suspends. It panics if ctx does not belong to a loop, or if the
// caller is not on that loop.
func Go(ctx context.Context, fn func(ctx context.Context) error) *Task {
	s := scopeOf(ctx)
	if s == nil {
		panic("rondo: Go with a ctx that does not come from Run")
	}
	s.loop.mustBeInside("Go")
	return s.loop.spawn(s.owner(), ctx, fn)
}

// spawn makes a task and puts it into the queue.
func (l *Loop) spawn(owner *Scope, ctx context.Context, fn func(ctx context.Context) error) *Task {
	return l.spawnFor(owner, ctx, fn, 0)
}

// spawnFor is spawn for an fn that stands for the user's function whose entry is
// given.
func (l *Loop) spawnFor(owner *Scope, ctx context.Context, fn func(ctx context.Context) error, user uintptr) *Task {
	t := l.newTask(owner, ctx, fn, user)
	l.queue.push(entry{task: t})
	return t
}

// newTask makes a task that its owner answers for. Its ctx descends from the one
// given.
func (l *Loop) newTask(owner *Scope, ctx context.Context, fn func(ctx context.Context) error, user uintptr) *Task {
	if fn == nil {
		panic("rondo: Go with a nil function")
	}
	if owner.is(markLeft) {
		panic("rondo: Go in a scope that has ended")
	}
	l.lastID++
	t := &Task{fn: fn, id: l.lastID, born: l.now}
	if l.current != nil {
		t.parent = l.current.id
	}
	t.scope.host = t
	t.owner = owner
	t.scope.begin(l, scopeOf(ctx), ctx)
	owner.tasks++
	l.live++
	if r := l.ring; r == nil {
		t.next, t.prev = t, t
		l.ring = t
	} else {
		t.next, t.prev = r, r.prev
		r.prev.next, r.prev = t, t
	}
	if user != 0 {
		t.more().entry = user
	}
	if l.watch != nil {
		l.watch.started(t)
	}
	return t
}

// hearAnywhere is hear for a caller on any goroutine.
func (t *Task) hearAnywhere() { t.scope.loop.do(t.hear) }

// finish ends the running task: whoever waits for it is made ready, and its
// scope hears of its error.
func (l *Loop) finish(t *Task, err error) {
	if l.watch != nil {
		l.watch.ends(t, err)
	}
	t.worker.abandon()
	t.err, t.state, t.fn, t.worker = err, stateDone, nil, nil
	if t.next == t {
		l.ring = nil
	} else {
		if l.ring == t {
			l.ring = t.next
		}
		t.next.prev, t.prev.next = t.prev, t.next
	}
	t.next, t.prev = nil, nil
	l.live--
	if len(l.crew.nested) > 0 {
		l.crew.forget(t)
	}
	if t.joiners.head != nil {
		t.heard = true
		t.joiners.WakeAll()
	}
	if r := t.rare; r != nil {
		if r.ended != nil {
			r.ended(err)
		}
		r.calls.ring(l)
	}
	own := &t.scope
	if v := own.verdict(); v != nil && v.origin == own {
		// That it was cancelled by itself is nobody's failure.
		err, _ = v.news(err)
	}
	owner := t.owner
	if !own.is(markLeft) {
		own.end()
	}
	owner.tasks--
	if err != nil {
		owner.failed(t, err)
	}
	if owner.tasks == 0 {
		owner.emptied()
	}
}

// Wait waits until t has ended and returns its error. Cancelling ctx ends the
// waiting, not the task, and Wait then returns the cause. Any goroutine may
// call it: a goroutine that is not a task of the loop blocks alone.
func (t *Task) Wait(ctx context.Context) error {
	l := t.scope.loop
	if !l.inside() {
		return l.waitOutside(ctx, t.whenDone)
	}
	s, me, err := l.enterWait(ctx, "Task.Wait")
	if err != nil {
		return err
	}
	if t == me {
		panic("rondo: Task.Wait of the task itself")
	}
	if t.state != stateDone {
		t.joiners.Owner = t
		t.joiners.push(me)
		if err := me.park(s, ctx, Reason{What: "task", On: t.id}); err != nil {
			return err
		}
	}
	t.hear()
	return t.err
}

// whenDone calls done on the loop with the task's error once it has ended.
func (t *Task) whenDone(done func(err error)) {
	t.heard = true
	if t.state == stateDone {
		t.hear()
		done(t.err)
		return
	}
	before := t.more().ended
	t.rare.ended = func(err error) {
		if before != nil {
			before(err)
		}
		done(err)
	}
}

// Cancel cancels the task's own scope: each wait in it, the present one
// included, fails with cause from now on. A nil cause stands for
// context.Canceled. A task that has not started runs, and fails at its first
// wait. Cancelling it again, or when it has ended, does nothing.
//
// The error with which the task then ends is no failure of the scope that owns
// it, if it is the cause. Any goroutine may call Cancel; it never suspends.
func (t *Task) Cancel(cause error) { t.scope.Cancel(cause) }

// Done reports whether the task has ended.
func (t *Task) Done() bool {
	t.scope.loop.mustBeInside("Task.Done")
	return t.state == stateDone
}

// Err gives the task's error: ErrNotDone before its end.
func (t *Task) Err() error {
	t.scope.loop.mustBeInside("Task.Err")
	if t.state != stateDone {
		return ErrNotDone
	}
	t.hear()
	return t.err
}

// OnDone runs fn as a callback of the loop when the task has ended, also if it has
// already, and never inside OnDone. stop keeps it from running and reports
// whether it was in time. Both may be called only on the loop; they never
// suspend. That fn is told does not count as waiting for the task's error.
func (t *Task) OnDone(fn func()) (stop func() bool) {
	l := t.scope.loop
	l.mustBeInside("Task.OnDone")
	h := l.handle(fn)
	if t.state == stateDone {
		l.queue.push(entry{call: h})
		return h.Cancel
	}
	c := &t.more().calls
	c.add(h)
	return func() bool { return h.Cancel() && c.stopped() }
}

// stands gives the scope whose cancellation ends a wait of t that was given a
// ctx of s. That is s, but for the task that ranges over the input of a Map: the
// sequence was made with a ctx from above, and what it waits for must end with
// the range.
func (t *Task) stands(s *Scope) *Scope {
	if t.rare == nil || !t.rare.input {
		return s
	}
	for above := t.scope.parent; above != nil; above = above.parent {
		if above == s {
			return &t.scope
		}
	}
	return s
}

// ID gives the task's number, which no other task of its loop has.
func (t *Task) ID() uint64 { return t.id }

// Name gives the name that SetName gave, or "task-N".
func (t *Task) Name() string {
	if t.rare != nil && t.rare.name != nil && *t.rare.name != "" {
		return *t.rare.name
	}
	return "task-" + strconv.FormatUint(t.id, 10)
}

// SetName names the task, for people who look at it.
func (t *Task) SetName(name string) { t.more().name = &name }

// Current gives the running task, or nil if the caller is not in one: ctx does
// not come from Run, or the caller is a callback or another goroutine.
func Current(ctx context.Context) *Task {
	s := scopeOf(ctx)
	if s == nil || !s.loop.inside() {
		return nil
	}
	return s.loop.current
}

// allowance is what a task may do between two waits, so that one whose reads and
// writes always succeed at once does not keep the loop to itself: 16
// operations, or 256 KiB.
const (
	allowance     = 256 << 10
	operationCost = allowance / 16
)

// errGoexit is the error of a task that called runtime.Goexit.
var errGoexit = errors.New("rondo: the task called runtime.Goexit")
