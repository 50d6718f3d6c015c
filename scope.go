package rondo

// A scope owns the tasks that are started in it.
//
// Scopes form a tree below the loop's root scope. Each task has its own scope, the ctx that
// its function gets; Group, Timeout, Deadline, Shield and Contain open further scopes, each
// around the call of a function, its body. A cancelled scope stays cancelled, and so does
// everything below it, except a Shield and the scopes below that. Cancellations are not
// counted, and none can be undone.
//
// A scope that such a function opens is left only when its body has returned, and all tasks
// started in it (TestNoTaskOutlivesItsScope) and its dependants have ended. The own scope of
// a serving task, one that runs a handler for a server, is left in the same way. When a scope
// is left, everything that other tasks still do in it is cancelled: their waits with its ctx,
// and the scopes that they have opened below it (TestLeavingCancels).

import (
	"cmp"
	"context"
	"unsafe"

	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/list"
	"github.com/rondo-go/rondo/internal/stdctx"
)

// A Scope owns tasks, and may have a deadline and values. It is a context.Context: pass it to any
// function that takes one, of the standard library too. Its context.Context methods and Cancel
// may be called by any goroutine, the others only on the loop.
type Scope struct {
	loop      *Loop
	host      *Task // the task that has opened it; its function, or a part of it, is the body
	published published
	parent    *Scope            // the scope that encloses it; nil for the root
	children  list.List[Scope]  // the scopes it encloses
	links     list.Links[Scope] // its neighbours among its parent's children
	tasks     int32             // the number of tasks that it owns and that have not ended
	shield    bool              // it is not cancelled when its parent is
	closed    bool              // it has been left
	dependent bool              // it is the own scope of a dependant's task
	cut       bool              // its cancellation has ended a wait or a task in it
	extra     *scopeExtra
}

// published is the part of a scope that other goroutines may read.
type published = stdctx.State[cancellation, *cancellation]

const scopeLinks = unsafe.Offsetof(Scope{}.links)

// scopeExtra has the fields that few scopes need.
type scopeExtra struct {
	errs           []error
	body           *Task                     // the host while it waits in join; see emptied
	onFailure      func(t *Task, v *verdict) // called in place of fail; for the root and OpenServing
	onEmpty        func()                    // called when the last task has ended; for the same two
	foreignWaiters []*worker                 // workers of other tasks that wait with its ctx
	deadline       *Handle                   // the timer of its deadline
	limit          int                       // how many of its tasks may run at once; 0: any number
	held           []*Task                   // new tasks that the limit holds back
	dependants     list.List[dependant]
	above          <-chan struct{} // Done of a context between s and its parent; see watchContext
	named          bool            // one of errs has the cause of the cancellation in it
	serving        bool            // it is the scope of a Contain, or of OpenServing
	exempt         int32           // how many of its tasks the limit does not count
	unwatch        func()          // ends the watch on the context of above
	containing     *containing     // the call of Contain whose scope it is
}

// A dependant has a task that does not keep its scope from ending, such as the sequence of a
// Pull. When the scope has no other tasks left, it stops its dependants and waits for them.
type dependant struct {
	links   list.Links[dependant]
	task    *Task
	scope   *Scope
	stopper interface{ stopSoon() } // makes the task end soon, without waiting for its end
	what    string                  // Reason.What of a wait for its end
	ended   WaitList
	holder  interface{ watch() } // the handle by which it is used, until watchHolders has seen it
}

const dependantLinks = unsafe.Offsetof(dependant{}.links)

func (s *Scope) ensureExtra() *scopeExtra {
	if s.extra == nil {
		s.extra = new(scopeExtra)
	}
	return s.extra
}

// begin puts s into the tree below parent. ctx has the values of s, and its cancellation
// cancels s. If a method of ctx panics, s is not in the tree.
func (s *Scope) begin(l *Loop, parent *Scope, ctx context.Context) {
	s.loop, s.parent = l, parent
	s.published.Begin(beyondOwn(ctx))
	if parent == nil {
		return
	}
	var ended *cancellation
	if !s.shield {
		ended = s.watchContext(ctx)
	}
	var left *cancellation
	for parent.closed {
		if parent.serves() {
			left = parent.cancelled()
		}
		parent = parent.parent
	}
	s.parent = parent
	parent.children.Add(s, scopeLinks)
	if s.shield {
		return
	}
	// A call of cancel wakes the host if s is the scope of its wait; see parkForeign.
	if left != nil && !s.detached() {
		s.cancel(left)
	}
	if c := parent.cancelled(); c != nil && !s.detached() {
		s.cancel(c)
	}
	if ended != nil {
		s.cancel(ended)
	}
}

// end takes s out of the tree. For those who still hold s as a context, it is cancelled.
func (s *Scope) end() {
	s.closed = true
	if s.cancelled() == nil {
		s.published.End(closedScope)
		s.endOthers()
	}
	if x := s.extra; x != nil {
		if x.unwatch != nil {
			x.unwatch()
		}
		if x.deadline != nil {
			x.deadline.stop()
		}
	}
	s.dissolve()
}

// dissolve takes s, which is closed, out of the tree. It may still have children: the scopes of
// tasks that were started with s as ctx and that another scope owns, and scopes that other tasks
// have opened. These move up to the parent of s. But if there are more than mayMoveUp, s stays in
// the tree until no more than that are left. So a child moves seldom, however deep the tree is,
// and of the scopes in the tree fewer are closed than open.
func (s *Scope) dissolve() {
	for p := s.parent; p != nil; s, p = p, p.parent {
		if s.children.Longer(mayMoveUp, scopeLinks) {
			return
		}
		p.children.Remove(s, scopeLinks)
		for c := s.children.First(); c != nil; c = s.children.First() {
			s.children.Remove(c, scopeLinks)
			c.parent = p
			p.children.Add(c, scopeLinks)
		}
		if !p.closed {
			return
		}
	}
}

// mayMoveUp is the largest number of children with which a closed scope leaves the tree.
const mayMoveUp = 4

// endOthers cancels what other tasks do in s, which is left without having been cancelled:
// their waits with the ctx of s, and the scopes that they have opened below s. It does not
// cancel tasks that were started with s as ctx and that another scope owns, except dependants.
func (s *Scope) endOthers() {
	for x := s.extra; x != nil && len(x.foreignWaiters) > 0; {
		x.foreignWaiters[0].job.wake(closedScope)
	}
	for c := range s.children.All(scopeLinks) {
		if (!c.isOwn() || c.dependent) && !c.closed && !c.shield && !c.detached() {
			c.cancel(closedScope)
		}
	}
}

// cancel makes c the cancellation of s and of all scopes below it, except shielded ones, and
// ends the waits in them. A scope that is cancelled already keeps its cancellation.
func (s *Scope) cancel(c *cancellation) {
	if s.cancelled() != nil {
		return
	}
	s.published.End(c)
	if h := s.host; h != nil && h.state == stateWaiting && h.worker.under == s {
		h.wake(c)
	}
	for x := s.extra; x != nil && len(x.foreignWaiters) > 0; {
		x.foreignWaiters[0].job.wake(c)
	}
	s.cancelBelow(c)
}

func (s *Scope) cancelBelow(c *cancellation) {
	for child := range s.children.All(scopeLinks) {
		switch {
		case child.closed:
			child.cancelBelow(c)
		case !child.shield && !child.detached():
			child.cancel(c)
		}
	}
}

// noteCut records that c, the cancellation of s, has ended something in s. It sets cut in s and
// in each scope above it that has the same cancellation.
func (s *Scope) noteCut(c *cancellation) {
	for ; s != nil && (s.closed || !s.cut && s.cancelled() == c); s = s.parent {
		s.cut = true
	}
}

// Cancel cancels the scope: the waits in progress in it and all later ones fail with cause, and
// Group returns cause. If cause is nil, the waits fail with context.Canceled, and Group returns
// nil. A second Cancel, or one after the scope has ended, does nothing. Any goroutine may call
// Cancel; it never suspends.
func (s *Scope) Cancel(cause error) {
	c := &cancellation{err: context.Canceled, cause: cause, origin: s}
	if cause == nil {
		c.cause, c.silent = context.Canceled, true
	}
	s.loop.do(func() { s.cancel(c) })
}

// owner returns the scope that owns tasks started with s as ctx. If s is the own scope of a task
// that is not serving, that is the scope that owns the task. If s is the scope of a handler that
// has returned, it is the root scope, because a failure must not reach the server's scope.
func (s *Scope) owner() *Scope {
	if s.isOwn() && !s.serves() {
		s = s.host.owner
	}
	if s.closed && s.serves() {
		return &s.loop.root
	}
	return s
}

// serves reports whether s is the scope of a handler: the own scope of a serving task, the
// scope of a Contain, or one of OpenServing.
func (s *Scope) serves() bool {
	return s.host.serving && s.isOwn() || s.extra != nil && s.extra.serving
}

// failed is called when t, which s owns, has ended with an error.
func (s *Scope) failed(t *Task, v *verdict) {
	if t.observed && s.serves() {
		return // the waiter has got the error
	}
	if x := s.extra; x != nil && x.onFailure != nil {
		x.onFailure(t, v)
		return
	}
	s.fail(v)
}

// fail adds an error to the errors of s, and cancels s. v.Rest is nil if the error says no more
// than that s was cancelled; then nothing is added.
func (s *Scope) fail(v *verdict) {
	x := s.ensureExtra()
	if v.Rest != nil {
		x.errs, x.named = append(x.errs, v.Rest), x.named || v.Names
	}
	if v.Dropped {
		s.noteCut(v.by)
	}
	if s.cancelled() == nil {
		s.cancel(&cancellation{err: context.Canceled, cause: v.Rest, origin: s, failed: true})
	}
}

// startHeld queues tasks that the limit of s holds back, as many as the limit now allows.
func (s *Scope) startHeld() {
	for x := s.extra; len(x.held) > 0 && (x.limit == 0 || int(s.tasks-x.exempt)-len(x.held) < x.limit); {
		t := x.held[0]
		x.held[0] = nil
		x.held = x.held[1:]
		s.loop.enqueue(t)
	}
}

// emptied is called when the last task of s has ended.
func (s *Scope) emptied() {
	x := s.extra
	switch {
	case x == nil:
	case x.onEmpty != nil:
		x.onEmpty()
	case x.body != nil:
		body := x.body
		x.body = nil
		body.wake(nil)
	}
}

// join waits until the tasks of s have ended, and then ends its dependants. No cancellation
// ends the wait.
func (s *Scope) join(t *Task) {
	// Other code that holds s may start a task in it between the end of the last task and
	// the moment at which t runs again.
	for s.tasks > 0 || s.hasDependants() {
		if s.tasks > 0 {
			s.ensureExtra().body = t
			what := "group"
			if s.isOwn() {
				what = "started tasks"
			}
			_ = t.park(nil, nil, Reason{What: what})
			continue
		}
		s.cancel(&cancellation{err: context.Canceled, cause: context.Canceled, origin: s, silent: true})
		s.closeDependants(t)
	}
}

// leaver returns the task that leaves s, and reports whether the caller may leave s. The task is
// the running one: another than the host if s was opened in a coroutine that another task has
// resumed since. It is nil after the end of the loop, with which all tasks of s have ended.
func (s *Scope) leaver() (t *Task, may bool) {
	if s.runs() {
		return s.host, true
	}
	if l := s.loop; l.inside() {
		return l.current, l.current != nil
	}
	return nil, s.loop.inbox.Closed()
}

// leave records that the task of w leaves s. outer was the innermost scope when s was opened.
// Coroutines may leave scopes in another order than that in which they were opened: a scope that
// is not below s stays the innermost one, and if outer was left, it is the next one above that the
// task has opened. If w has another task by now, nothing changes.
func (w *worker) leave(s, outer *Scope) {
	for p := w.inner; p != s; p = p.parent {
		if p == nil {
			return
		}
	}
	for outer != nil && (outer.closed || outer.host != w.job) {
		outer = outer.parent
	}
	w.inner = cmp.Or(outer, &w.job.scope)
}

// depend makes d a dependant of s. Until endDependant, the owner of its task does not count
// the task among its own.
func (s *Scope) depend(d *dependant) {
	d.task.scope.dependent = true
	d.task.owner.tasks--
	d.scope = s
	s.ensureExtra().dependants.Add(d, dependantLinks)
}

// endDependant is called in the task of d just before the task ends.
func (d *dependant) endDependant() {
	d.scope.extra.dependants.Remove(d, dependantLinks)
	d.scope = nil
	if d.holder != nil {
		d.holder = nil
		d.task.scope.loop.unwatched.Marked(func(d *dependant) bool { return d.holder == nil })
	}
	d.task.owner.tasks++
	d.ended.WakeAll()
}

// watchHolders registers the holders of new dependants with the garbage collector, so that a
// dependant whose holder is forgotten is stopped. Many dependants end before they get that far.
func (l *Loop) watchHolders() {
	for _, d := range l.unwatched.Take() {
		if h := d.holder; h != nil {
			d.holder = nil
			h.watch()
		}
	}
}

func (s *Scope) hasDependants() bool { return s.extra != nil && s.extra.dependants.First() != nil }

// closeDependants stops the dependants of s, all at once, and waits for them. While they
// clean up they may make further ones, which it stops too.
func (s *Scope) closeDependants(t *Task) {
	for d := range s.extra.dependants.All(dependantLinks) {
		d.stopper.stopSoon()
	}
	for d := s.extra.dependants.First(); d != nil; d = s.extra.dependants.First() {
		d.stopper.stopSoon()
		d.wait(t)
	}
}

// wait waits until d has ended. No cancellation ends the wait.
func (d *dependant) wait(t *Task) {
	d.ended.Owner = d.task
	d.ended.push(t)
	_ = t.park(nil, nil, Reason{What: d.what, On: d.task.id})
}

// leaveOwn leaves the own scope of t, whose function has ended with err: it waits for the
// dependants of the scope and for the tasks that it owns. It returns the error of t.
func (t *Task) leaveOwn(err error) error {
	if t.serving {
		return t.leave(err)
	}
	if s := &t.scope; s.hasDependants() {
		if !s.closed {
			s.end()
		}
		s.closeDependants(t)
	}
	return err
}

// leave leaves the own scope of t, a serving task whose function has ended with err: it cancels
// the tasks that the function has started, and waits for their end. It returns err joined with
// their errors, without those that say only that one of these failures has cancelled the scope.
func (t *Task) leave(err error) error {
	s := &t.scope
	if x := s.extra; !t.serving || s.tasks == 0 && (x == nil || len(x.errs)+len(x.foreignWaiters) == 0 && !s.hasDependants()) {
		return err
	}
	s.loop.markUnwinding(t)
	if err != nil && s.cancelled() == nil {
		s.fail(s.judge(err))
		err = nil
	}
	s.cancel(&cancellation{err: context.Canceled, cause: context.Canceled, origin: s, silent: true})
	s.join(t)
	x := s.ensureExtra()
	if c := s.cancelled(); err != nil && (len(x.errs) > 0 || c.failed && c.origin == s) {
		err = c.judge(err).Rest
	}
	if err != nil {
		x.errs = append(x.errs, err)
	}
	err, x.errs = errtree.Join(x.errs), nil
	return err
}

// servesBelow reports whether t was started by a handler, or by a task below a handler.
func (t *Task) servesBelow() bool {
	for s := t.owner; s != nil; s = s.parent {
		if s.serves() {
			return true
		}
	}
	return false
}

// setDeadline sets the deadline of s to at, or removes it if at is never.
func (s *Scope) setDeadline(at int64) {
	if s.cancelled() != nil {
		return
	}
	x := s.ensureExtra()
	if x.deadline != nil {
		x.deadline.Cancel()
		x.deadline = nil
	}
	if at == never {
		s.published.SetDeadline(0, false)
		return
	}
	s.published.SetDeadline(at, true)
	if at <= s.loop.driver.Now() {
		s.expire()
		return
	}
	x.deadline = s.loop.callAt(at, s.expire)
}

// deadline returns the scope's own deadline, or never.
func (s *Scope) deadline() int64 {
	if at, has := s.published.Deadline(); has {
		return at
	}
	return never
}

// expire is called when the deadline of s has passed. It cancels the outermost scope around s,
// or s itself, that is not cancelled and whose deadline is not later than that of s. So of several
// scopes with the same deadline the outermost is cancelled, in whichever order their timers fire.
func (s *Scope) expire() {
	// A context.WithoutCancel may be between s and the outermost scope, whose cancellation does
	// not reach s then.
	for at := s.deadline(); s.cancelled() == nil; {
		first := s
		if s.loop.mayBeLate(s.extra.deadline) {
			for p := s; p.parent != nil && (p.closed || !p.shield); {
				if p = p.parent; p.cancelled() == nil && p.deadline() <= at {
					first = p
				}
			}
		}
		first.cancel(&cancellation{err: context.DeadlineExceeded, cause: new(stdctx.DeadlineError), origin: first})
	}
}
