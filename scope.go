package rondo

// A scope is a stretch of a program that owns what runs in it.
//
// Scopes form a tree below the loop's root scope. Each task has a scope of its
// own, the ctx that its function gets; Group, Timeout, Deadline and Shield open
// further ones around a body. Cancellation is a level, not an event: a scope
// that was cancelled stays so, and with it everything below it, a Shield and
// what is under it excepted. Nothing is counted and nothing is un-cancelled.
//
// An opened scope is left only when its body has returned, all tasks started in
// it have ended (TestNoTaskOutlivesItsScope), and so have its dependants. The own
// scope of a serving task, which calls a function for someone else, is left in the
// same way. Leaving a scope is its cancellation for whatever still waits in it: the
// waits of tasks of other scopes, and the scopes that these opened below it
// (TestLeavingCancels).

import (
	"context"
	"unsafe"

	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/list"
	"github.com/rondo-go/rondo/internal/stdctx"
)

// A Scope owns tasks, a deadline and values. It is a context.Context: pass it to whatever
// takes one, the standard library included. Its context.Context methods may be called by
// any goroutine, and so may Cancel; the others only on the loop.
type Scope struct {
	loop      *Loop
	host      *Task // the task whose body runs in it
	published published
	parent    *Scope            // the scope that encloses it; nil for the root
	children  list.List[Scope]  // the scopes it encloses
	links     list.Links[Scope] // its neighbours among its parent's children
	tasks     int32             // how many it owns that have not ended
	shield    bool              // it is not cancelled when its parent is
	closed    bool              // it has been left
	dependent bool              // it is the own scope of a dependant's task
	cut       bool              // its cancellation has ended something in it
	extra     *scopeExtra
}

// published is what other goroutines see of a scope.
type published = stdctx.State[cancellation, *cancellation]

const scopeLinks = unsafe.Offsetof(Scope{}.links)

// scopeExtra is what few scopes need.
type scopeExtra struct {
	errs           []error
	named          bool                      // one of errs has the cause of the cancellation
	body           *Task                     // waits in join for the scope's last task
	onFailure      func(t *Task, v *verdict) // called in place of fail; the root's, and OpenServing's
	onEmpty        func()                    // called when the last task has ended; the same two
	foreignWaiters []*worker                 // of tasks that run elsewhere; see addForeign
	deadline       *Handle
	limit          int     // how many of its tasks may have begun and not ended; 0: any number
	held           []*Task // those that wait for that, not started yet
	dependants     list.List[dependant]
	above          <-chan struct{} // Done of a context between s and its parent; see watchContext
	serving        bool            // it is that of Contain, or of OpenServing
	unwatch        func()          // ends the watch on that context
}

// A dependant runs in a task of its own that does not keep its scope from ending: the
// scope, when it has no other tasks left, ends its dependants, and waits for that.
type dependant struct {
	links   list.Links[dependant]
	task    *Task
	scope   *Scope
	stopper interface{ stopSoon() } // makes the task end soon, without waiting for that
	what    string                  // it, in the Reason of a wait for its end
	ended   WaitList
	holder  interface{ watch() } // who can end it, and the collector does not watch yet
}

const dependantLinks = unsafe.Offsetof(dependant{}.links)

func (s *Scope) ensureExtra() *scopeExtra {
	if s.extra == nil {
		s.extra = new(scopeExtra)
	}
	return s.extra
}

// begin puts s into the tree. ctx is where its values come from, and what may
// cancel it besides its parent. If a method of ctx panics, nothing has begun.
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
	// What cancels s here wakes the host if it waits already; see parkForeign.
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

// end takes s out of the tree, and ends it for those outside who still hold it as a context.
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
			x.deadline.Cancel()
		}
	}
	s.dissolve()
}

// dissolve takes s, which is closed, out of the tree. What is left below it are tasks that it
// started and another scope owns, and scopes that other tasks have opened: these move up. If
// they are many, s stays above them until most have ended. So a child moves seldom, however
// deep the tree is, and there are fewer closed scopes in the tree than others.
func (s *Scope) dissolve() {
	for p := s.parent; p != nil; s, p = p, p.parent {
		if s.children.Longer(most, scopeLinks) {
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

// most is how many children a closed scope may have that leaves the tree.
const most = 4

// endOthers ends what other tasks do in s, which is left without having been cancelled:
// their waits, and the scopes that they have opened. A task that was started with s as
// its ctx, and that another scope owns, outlives s, unless it is a dependant.
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

// cancel makes c the cancellation of s and of everything below it, and ends the
// waits there. A scope that is cancelled already keeps the cancellation it has.
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

// noteCut notes that c, the cancellation of s, has ended something in s, for s and
// all scopes around it that it is the cancellation of.
func (s *Scope) noteCut(c *cancellation) {
	for ; s != nil && (s.closed || !s.cut && s.cancelled() == c); s = s.parent {
		s.cut = true
	}
}

// Cancel ends the scope: each wait in it, those that go on included, fails from now on
// with cause. Group then returns cause; a nil cause stands for context.Canceled in the
// waits, and Group returns nil. Cancelling a scope again, or one that has ended, does
// nothing. Any goroutine may call Cancel; it never suspends.
func (s *Scope) Cancel(cause error) {
	c := &cancellation{err: context.Canceled, cause: cause, origin: s}
	if cause == nil {
		c.cause, c.silent = context.Canceled, true
	}
	s.loop.do(func() { s.cancel(c) })
}

// owner returns the scope that answers for tasks started with s as ctx. A task's own
// scope owns none, unless the task is serving. One that was started with the ctx of a
// function that has been called for someone else, and has returned, must not fail in the
// scope of the server: it is the loop's.
func (s *Scope) owner() *Scope {
	if s.isOwn() && !s.serves() {
		s = s.host.owner
	}
	if s.closed && s.serves() {
		return &s.loop.root
	}
	return s
}

// serves reports whether the function that runs in s is called for someone else: s is the
// own scope of a serving task, that of Contain, or one of callbacks.
func (s *Scope) serves() bool {
	return s.host.serving && s.isOwn() || s.extra != nil && s.extra.serving
}

// failed is called when t, which s owns, has ended with an error.
func (s *Scope) failed(t *Task, v *verdict) {
	if t.observed && s.serves() {
		return // it is the error of the task that waits for it
	}
	if x := s.extra; x != nil && x.onFailure != nil {
		x.onFailure(t, v)
		return
	}
	s.fail(v)
}

// fail keeps an error as one of the scope's errors, and cancels the scope for it. What
// only says that the scope was cancelled is not kept.
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

// startHeld starts the tasks that the limit of s holds back, as many as it allows.
func (s *Scope) startHeld() {
	for x := s.extra; len(x.held) > 0 && (x.limit == 0 || int(s.tasks)-len(x.held) < x.limit); {
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

// join waits, whatever is cancelled, until the scope's tasks have ended, and then
// ends its dependants.
func (s *Scope) join(t *Task) {
	// A goroutine or task that holds the scope may start a task in it between the
	// end of the last one and the moment at which this one goes on.
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

// depend makes d a dependant of s. Its task does not count among those that its
// owner waits for until endDependant.
func (s *Scope) depend(d *dependant) {
	d.task.scope.dependent = true
	d.task.owner.tasks--
	d.scope = s
	s.ensureExtra().dependants.Add(d, dependantLinks)
}

// endDependant is called in the task of d when nothing is left but its end.
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

// watchHolders lets the collector watch who can end the dependants that are not watched.
func (l *Loop) watchHolders() {
	for _, d := range l.unwatched.Take() {
		if h := d.holder; h != nil {
			d.holder = nil
			h.watch()
		}
	}
}

func (s *Scope) hasDependants() bool { return s.extra != nil && s.extra.dependants.First() != nil }

// closeDependants ends the dependants of s, all at once, and waits for them. More
// may come while they clean up.
func (s *Scope) closeDependants(t *Task) {
	for d := range s.extra.dependants.All(dependantLinks) {
		d.stopper.stopSoon()
	}
	for d := s.extra.dependants.First(); d != nil; d = s.extra.dependants.First() {
		d.stopper.stopSoon()
		d.wait(t)
	}
}

// wait waits, whatever is cancelled, until d has ended.
func (d *dependant) wait(t *Task) {
	d.ended.Owner = d.task
	d.ended.push(t)
	_ = t.park(nil, nil, Reason{What: d.what, On: d.task.id})
}

// leaveOwn leaves t's own scope before t ends with err, if it has dependants or owns tasks,
// and returns the error with which t ends.
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

// leave cancels what the function of t, which is serving and has ended with err, has
// started, and waits for its end. It returns err joined with the errors of those tasks,
// without what says only that one of these failures has cancelled the scope.
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

// servesBelow reports whether t was started by a function that is called for someone else,
// or by a task below that.
func (t *Task) servesBelow() bool {
	for s := t.owner; s != nil; s = s.parent {
		if s.serves() {
			return true
		}
	}
	return false
}

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

// expire cancels s, whose deadline has passed; or the outermost of the scopes
// around it whose deadline was no later, so that at a tie it is the outer one
// that ends, whichever timer the loop came to first.
func (s *Scope) expire() {
	if s.cancelled() != nil {
		return
	}
	first, at := s, s.deadline()
	if s.loop.mayBeLate(s.extra.deadline) {
		for p := s; p.parent != nil && (p.closed || !p.shield); {
			if p = p.parent; !p.closed && p.deadline() <= at {
				first = p
			}
		}
	}
	first.cancel(&cancellation{err: context.DeadlineExceeded, cause: new(stdctx.DeadlineError), origin: first})
}
