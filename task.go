package rondo

// A task is one call of a function, running as a coroutine of its loop. It is new at first,
// then ready, running or waiting, any number of times, and done in the end. Only finish makes
// a task done.

import (
	"context"

	"github.com/rondo-go/rondo/internal/list"
	"github.com/rondo-go/rondo/internal/stacks"
)

// A Task is one call of a function, run by a loop in turns with its other tasks. It switches only
// where the function waits. Its methods may be called only on its loop, except Wait and Cancel,
// which any goroutine may call.
type Task struct {
	worker   *worker // runs it; nil before its start and after its end
	self     uint64  // gid.Self of its goroutine, once it has started
	state    state
	observed bool  // a caller has received its error, or will, so that OnError does not get it
	serving  bool  // it runs a handler: its own scope owns the tasks that the handler starts
	woken    bool  // it was made ready, by its start or by wake, and has not run since
	site     int32 // the place where it was started, relative to marker; see stacks.Above
	id       uint64

	scope Scope // the task's own scope: the ctx its function gets

	owner   *Scope           // the scope that gets its error and waits for its end
	links   list.Links[Task] // its neighbours among the loop's tasks
	fn      func(ctx context.Context) error
	err     error
	joiners *WaitList // the tasks that wait for its end; nil until there is one
	extra   *taskExtra
	parent  uint64
	born    int64
}

// Go starts fn in a new task. The scope of ctx owns the task: the innermost Group, Timeout,
// Deadline, Shield or Contain that ctx comes from, a server's call of a handler, or else the
// loop's root scope. The owner waits for the task and gets its error. An error in the root scope
// goes to the Runner's OnError, unless a caller waits for the task. The task runs for the first
// time in the next turn, or later if many tasks have not started yet or SetLimit holds it back.
//
// Go never suspends. It panics if ctx belongs to no loop, if the owning scope has ended, or if
// the caller is not on that loop.
//
//go:noinline
func Go(ctx context.Context, fn func(ctx context.Context) error) *Task {
	s := mustHaveLoop(ctx)
	s.mustBeInside("Go")
	return s.loop.spawn(s.owner(), ctx, fn, 0, stacks.Above(markerAt))
}

// Go starts fn in a new task that the scope owns, as the function Go does. It never suspends. It
// panics if the scope has ended, or if the caller is not on the scope's loop.
//
//go:noinline
func (s *Scope) Go(fn func(ctx context.Context) error) *Task {
	s.mustBeInside("Scope.Go")
	return s.loop.spawn(s.owner(), s, fn, 0, stacks.Above(markerAt))
}

// spawn makes a task and queues it. If fn wraps a function of the program, user is the entry of
// that function; otherwise it is 0.
func (l *Loop) spawn(owner *Scope, ctx context.Context, fn func(ctx context.Context) error, user uintptr, site int32) *Task {
	mustNotBeNil(fn == nil)
	t := &Task{site: site}
	if user != 0 {
		t.ensureExtra().entry = user
	}
	l.newTask(t, owner, ctx, fn)
	l.start(t)
	return t
}

// start puts t into the queue, unless its owner has a limit that holds it back.
func (l *Loop) start(t *Task) {
	if x := t.owner.extra; x != nil && x.limit > 0 {
		x.held = append(x.held, t)
		t.owner.startHeld()
	} else {
		l.enqueue(t)
	}
	if l.observer != nil {
		l.tell(taskStarted, t) // last, because a hook may call Goexit
	}
}

// exempt has the limit of its owner neither count nor hold back t, which was started just now.
// Unless always is true, that is so only if the owner owns the running task too, or one that
// encloses it. They may wait for t, and so hold it up for ever.
func (t *Task) exempt(always bool) {
	if !always {
		above := t.scope.loop.current.owner
		for above != nil && above != t.owner {
			above = above.host.owner
		}
		if above == nil {
			return
		}
	}
	x := t.owner.ensureExtra()
	x.exempt++
	t.ensureExtra().exempt = true
	if last := len(x.held) - 1; last >= 0 && x.held[last] == t {
		x.held[last] = nil
		x.held = x.held[:last]
		t.scope.loop.enqueue(t)
	}
}

// newTask initializes t as a new task that owner owns. Its own scope is below ctx. If fn is
// nil, t runs t.extra.body.
func (l *Loop) newTask(t *Task, owner *Scope, ctx context.Context, fn func(ctx context.Context) error) {
	if owner.closed {
		panic("rondo: Go in a scope that has ended: call it before the Group, Timeout, Shield or task of the scope returns")
	}
	l.lastID++
	t.fn, t.id, t.born, t.woken = fn, l.lastID, l.now, true
	t.parent = l.currentID()
	t.scope.host = t
	t.owner = owner
	t.scope.begin(l, scopeOf(ctx), ctx)
	owner.tasks++
	l.live++
	l.allTasks.Add(t, taskLinks)
}

// judge returns the verdict of the scope that owns t on err, the error with which t ends. It
// returns nil if err is nil, or says no more than that t was cancelled by Task.Cancel.
func (t *Task) judge(err error) *verdict {
	if c := t.scope.cancelled(); c != nil && t.cancelledAlone(c) {
		err = c.judge(err).Rest
	}
	if err == nil {
		return nil
	}
	return t.owner.judge(err)
}

// cancelledAlone reports whether c, the cancellation of t, comes from Task.Cancel of t, or of a
// task with whose ctx t was started, and has not cancelled the scope that owns t. A handler is no
// such task: it owns what it starts, except what is started by mistake after its end.
func (t *Task) cancelledAlone(c *cancellation) bool {
	s := c.origin
	if s == nil || c.failed || t.owner.cancelled() == c {
		return false
	}
	return s == &t.scope || s.isOwn() && !s.serves()
}

// finish ends t, the running task, with err: it wakes the tasks that wait for t, and passes v,
// the verdict on err, to the owner of t.
func (l *Loop) finish(t *Task, err error, v *verdict) {
	if l.observer != nil {
		l.observer.observe(event{kind: taskEnded, task: t, err: err})
	}
	if err != nil {
		l.keepEntry(t)
	}
	t.err, t.state, t.fn, t.worker = err, stateDone, nil, nil
	l.allTasks.Remove(t, taskLinks)
	l.live--
	l.forgetNested(t)
	l.pass = l.nextTask == nil && l.alone() // the first task to become ready bypasses the queue
	if list := t.joiners; list != nil {
		t.joiners = nil
		t.observed = l.release(list) || t.observed
	}
	if x := t.extra; x != nil {
		if x.exempt {
			t.owner.extra.exempt--
		}
		if x.body != nil {
			x.body.complete(err)
		}
		if x.rest != nil && x.rest.calls != nil {
			l.readyAll(x.rest.calls.Take())
		}
	}
	owner := t.owner
	if own := &t.scope; !own.closed {
		own.end()
	}
	owner.tasks--
	if v != nil {
		owner.failed(t, v)
	}
	if x := owner.extra; x != nil && len(x.held) > 0 {
		owner.startHeld()
	}
	if owner.tasks == 0 {
		owner.emptied()
	}
	l.pass = false
}

// Cancel cancels the task's own scope: the wait in progress and each later one fail with
// cause. If cause is nil, they fail with context.Canceled. A task that has not started still
// starts, and fails at its first wait. A second Cancel, or one after the task's end, does nothing.
//
// The tasks that were started with its ctx are cancelled with it. If one of these tasks then ends
// with the cause as its error, that is no failure of the scope that owns the task. Any goroutine
// may call Cancel; it never suspends.
func (t *Task) Cancel(cause error) { t.scope.Cancel(cause) }

// Done reports whether the task has ended.
func (t *Task) Done() bool {
	t.scope.loop.mustBeInside("Task.Done")
	return t.state == stateDone
}

// Err returns the error with which the task ended, or ErrNotDone before its end. An error
// that Err has returned does not go to OnError.
func (t *Task) Err() error {
	t.scope.loop.mustBeInside("Task.Err")
	if t.state != stateDone {
		return ErrNotDone
	}
	t.observe()
	return t.err
}

// OnDone runs fn as a callback of the loop when the task has ended. If it has ended already, fn
// runs soon, but not before OnDone returns. stop prevents the call of fn and reports whether it
// was in time. OnDone and stop may be called only on the loop, and never suspend. fn does not
// count as a wait for the task: an error that no one else waits for is reported all the same.
func (t *Task) OnDone(fn func()) (stop func() bool) {
	l := t.scope.loop
	l.mustBeInside("Task.OnDone")
	return t.onDone(l.handle(fn))
}

func (t *Task) onDone(h *Handle) (stop func() bool) {
	l := t.scope.loop
	if t.state == stateDone {
		l.queue.Add(entry{call: h})
		return h.Cancel
	}
	x := t.ensureRest()
	if x.calls == nil {
		x.calls = new(calls)
	}
	x.calls.Add(h)
	return func() bool { return h.Cancel() && x.calls.stopped() }
}

// Current returns the running task, or nil if the caller is not in one: ctx does
// not come from Run, or the caller is a callback or another goroutine.
func Current(ctx context.Context) *Task {
	if s, ok := ctx.(*Scope); ok && s.runs() {
		return s.host
	}
	s := scopeOf(ctx)
	if s == nil || !s.loop.inside() {
		return nil
	}
	return s.loop.current
}
