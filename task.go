package rondo

// A task is one call of a function, running as a coroutine of its loop. Its life is a line:
// new, then ready, running and waiting in turns, then done, by finish alone.

import (
	"context"

	"github.com/rondo-go/rondo/internal/list"
	"github.com/rondo-go/rondo/internal/stacks"
)

// A Task is one call of a function, run by a loop in turns with its other tasks. It switches only
// where the function waits. Its methods, Wait and Cancel apart, may be called only on its loop.
type Task struct {
	worker   *worker // what runs it; nil before its start and after its end
	gid      uint64  // the number of its goroutine, once it has started
	state    state
	observed bool  // a caller waits for its error, or has it
	serving  bool  // it calls a function for someone else: its own scope owns what that starts
	woken    bool  // its wait was ended, and it has not run since
	site     int32 // where it was started, as stacks.Above says it from marker on
	id       uint64

	scope Scope // the task's own scope: the ctx its function gets

	owner   *Scope           // the scope that answers for it and waits for its end
	links   list.Links[Task] // its neighbours among the loop's tasks
	fn      func(ctx context.Context) error
	err     error
	joiners *WaitList // of those that wait for its end; nil until there is one
	extra   *taskExtra
	parent  uint64
	born    int64
}

// Go starts fn in a task of its own, in the scope of ctx: of the Group, Timeout, Deadline
// or Shield that encloses the caller most closely, or else the loop's root scope. The
// task runs for the first time in the next turn. Its error goes to its scope; one in the
// root scope for which nobody waits goes to the Runner's OnError.
//
// Go never suspends. It panics if ctx belongs to no loop, or the caller is not on that loop.
//
//go:noinline
func Go(ctx context.Context, fn func(ctx context.Context) error) *Task {
	s := mustHaveLoop(ctx)
	s.mustBeInside("Go")
	return s.loop.spawn(s.owner(), ctx, fn, 0, stacks.Above(markerAt))
}

// Go starts fn in a task that the scope owns. It never suspends. It panics if the scope has ended.
//
//go:noinline
func (s *Scope) Go(fn func(ctx context.Context) error) *Task {
	s.mustBeInside("Scope.Go")
	return s.loop.spawn(s.owner(), s, fn, 0, stacks.Above(markerAt))
}

// spawn makes a task and queues it. If fn stands for a function of the user's, user is its entry.
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

// newTask makes t a task that its owner answers for. Its ctx descends from the one
// given. Without fn it runs its extra's body.
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

// judge returns what err, with which t ends, is to the scope that owns t; nil if it is
// nothing. That the task was cancelled by itself is nobody's failure.
func (t *Task) judge(err error) *verdict {
	if c := t.scope.cancelled(); c != nil && c.origin == &t.scope && !c.failed {
		err = c.judge(err).Rest
	}
	if err == nil {
		return nil
	}
	return t.owner.judge(err)
}

// finish ends the running task: those that wait for it are made ready, and its
// owner learns its error, which v is the verdict on.
func (l *Loop) finish(t *Task, err error, v *verdict) {
	if l.observer != nil {
		l.observer.observe(event{kind: taskEnded, task: t, err: err})
	}
	if w := t.worker; w.list != nil || w.selection != nil || w.timerIndex != 0 || w.foreignIndex != 0 {
		w.abandon() // a panic came between the preparation of a wait and the wait
	}
	if err != nil {
		l.keepEntry(t)
	}
	t.err, t.state, t.fn, t.worker = err, stateDone, nil, nil
	l.allTasks.Remove(t, taskLinks)
	l.live--
	l.forgetNested(t)
	l.pass = l.nextTask == nil && l.alone() // nothing is before the first that becomes ready
	if list := t.joiners; list != nil {
		t.joiners = nil
		t.observed = l.release(list) || t.observed
	}
	if x := t.extra; x != nil {
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

// Cancel cancels the task's own scope: each wait in it, the present one included, fails with
// cause from now on. A nil cause stands for context.Canceled. A task that has not started runs,
// and fails at its first wait. Cancelling it again, or when it has ended, does nothing.
//
// The error with which the task then ends is no failure of the scope that owns
// it, if it is the cause. Any goroutine may call Cancel; it never suspends.
func (t *Task) Cancel(cause error) { t.scope.Cancel(cause) }

// Done reports whether the task has ended.
func (t *Task) Done() bool {
	t.scope.loop.mustBeInside("Task.Done")
	return t.state == stateDone
}

// Err returns the task's error: ErrNotDone before its end.
func (t *Task) Err() error {
	t.scope.loop.mustBeInside("Task.Err")
	if t.state != stateDone {
		return ErrNotDone
	}
	t.observe()
	return t.err
}

// OnDone runs fn as a callback of the loop when the task has ended, also if it has already, and
// never inside OnDone. stop keeps it from running and reports whether it was in time. Both may be
// called only on the loop; they never suspend. A call of fn is no wait for the task's error.
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
