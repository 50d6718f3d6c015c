package rondo

// This file has the scope: a stretch of a program that owns what runs in it.
//
// Scopes form a tree below the loop's root scope. Each task has a scope of its
// own, the ctx that its function gets; Group, Timeout, Deadline and Shield open
// further ones around a body. Cancellation is a level, not an event: a scope
// that was cancelled stays so, and with it everything below it, a Shield and
// what is under it excepted. Nothing is counted and nothing is un-cancelled.
//
// An opened scope is left only when its body has returned and all tasks started
// in it have ended (TestNoTaskOutlivesItsScope).

import (
	"context"
	"time"
)

// A Scope owns tasks, a deadline and values. It is a context.Context: pass it
// to whatever takes one, the standard library included. Its context.Context
// methods may be called by any goroutine, and so may Cancel; the others only on
// the loop.
type Scope struct {
	loop   *Loop
	host   *Task // the task whose body runs in it
	face   face
	parent *Scope // the scope that encloses it; nil for the root
	child  *Scope // the first of the scopes it encloses
	next   *Scope // its neighbours among its parent's children; a ring
	prev   *Scope
	tasks  int32 // how many it owns that have not ended
	marks  marks
	extra  *extra
}

// isOwn tells whether the scope is a task's own.
func (s *Scope) isOwn() bool { return s == &s.host.scope }

// extra is what few scopes need.
type extra struct {
	errs      []error
	echo      bool      // something said no more than that the scope was cancelled
	body      *Task     // waits in join for the scope's last task
	strangers []*worker // their tasks wait under this scope, though it is not theirs; see admit
	deadline  *Handle
	pulls     *pull       // the first of the Pulls that end with the scope
	unwatch   func() bool // ends the watch on a context of the standard library
}

func (s *Scope) more() *extra {
	if s.extra == nil {
		s.extra = new(extra)
	}
	return s.extra
}

// begin puts s into the tree. ctx is where its values come from, and what may
// cancel it besides its parent.
func (s *Scope) begin(l *Loop, parent *Scope, ctx context.Context) {
	s.loop, s.parent = l, parent
	s.face.ctx = ctx
	if parent == nil {
		return
	}
	for parent.is(markLeft) {
		parent = parent.parent
	}
	parent.adopt(s)
	if s.is(markShield) {
		return
	}
	if v := parent.verdict(); v != nil {
		s.face.decided.Store(v)
	}
	if above := scopeOf(ctx); context.Context(above) != ctx {
		s.watchContext(ctx, above)
	}
}

// end takes s out of the tree, and tells those outside who still hold it as a
// context that it is over.
func (s *Scope) end() {
	s.mark(markLeft)
	if x := s.extra; x != nil {
		if x.unwatch != nil {
			x.unwatch()
		}
		if x.deadline != nil {
			x.deadline.Cancel()
		}
	}
	if p := s.parent; p != nil {
		p.forget(s)
		// What is left below it are tasks that it started and another scope owns.
		for s.child != nil {
			c := s.child
			s.forget(c)
			p.adopt(c)
		}
	}
	if s.isOwn() && s.face.shown.Load() == nil {
		// Its task has ended and nobody has asked for more than its mark.
		return
	}
	s.face.end()
}

// adopt makes c the last child of s.
func (s *Scope) adopt(c *Scope) {
	c.parent = s
	first := s.child
	if first == nil {
		c.next, c.prev = c, c
		s.child = c
		return
	}
	c.next, c.prev = first, first.prev
	first.prev.next, first.prev = c, c
}

// forget takes c from among the children of s.
func (s *Scope) forget(c *Scope) {
	if c.next == c {
		s.child = nil
	} else {
		if s.child == c {
			s.child = c.next
		}
		c.next.prev, c.prev.next = c.prev, c.next
	}
	c.next, c.prev = nil, nil
}

// cancel makes v the verdict of s and of everything below it, and ends the
// waits there. A scope that is cancelled already keeps the verdict it has.
func (s *Scope) cancel(v *verdict) {
	if s.is(markLeft) || s.verdict() != nil {
		return
	}
	s.face.cancel(v)
	if h := s.host; h != nil && h.state == stateWaiting && h.worker.under == s {
		h.wake(v)
	}
	for x := s.extra; x != nil && len(x.strangers) > 0; {
		x.strangers[0].job.wake(v)
	}
	if c := s.child; c != nil {
		for {
			if !c.is(markShield) {
				c.cancel(v)
			}
			if c = c.next; c == s.child {
				break
			}
		}
	}
}

// admit notes that t waits under s, which it does not host: it was given the
// ctx of another. seeOff undoes it.
func (s *Scope) admit(t *Task) {
	x := s.more()
	x.strangers = append(x.strangers, t.worker)
	t.worker.guest = int32(len(x.strangers))
}

func (s *Scope) seeOff(w *worker) {
	x := s.extra
	last := len(x.strangers) - 1
	moved := x.strangers[last]
	x.strangers[w.guest-1], moved.guest = moved, w.guest
	x.strangers[last] = nil
	x.strangers = x.strangers[:last]
	w.guest = 0
}

// owner gives the scope that answers for tasks started with s as ctx: a task's
// own scope owns none.
func (s *Scope) owner() *Scope {
	for s.isOwn() {
		s = s.parent
	}
	return s
}

// failed hears that t, which s owns, ended with err.
func (s *Scope) failed(t *Task, err error) {
	if s == &s.loop.root {
		s.loop.unclaimed(t, err)
		return
	}
	s.fail(err)
}

// fail keeps err as one of the scope's errors, and cancels the scope for it. An
// echo of the scope's own cancellation is not kept.
func (s *Scope) fail(err error) {
	x := s.more()
	if v := s.verdict(); v != nil {
		news, echo := v.news(err)
		if news != nil {
			x.errs = append(x.errs, news)
		}
		x.echo = x.echo || echo
		return
	}
	x.errs = append(x.errs, err)
	s.cancel(&verdict{err: context.Canceled, cause: err, origin: s, failed: true})
}

// bequeath leaves the errors of s, which t's panic keeps from being returned, to
// the scope around it.
func (s *Scope) bequeath(t *Task) {
	if s.extra == nil || len(s.extra.errs) == 0 {
		return
	}
	if heir := s.parent.owner(); heir != &s.loop.root {
		heir.fail(join(s.extra.errs))
		return
	}
	s.loop.unheard.add(&unheard{info: t.info(), err: join(s.extra.errs)})
}

// emptied hears that the last task of s has ended.
func (s *Scope) emptied() {
	if s == &s.loop.root {
		s.loop.rootEmptied()
		return
	}
	if x := s.extra; x != nil && x.body != nil {
		body := x.body
		x.body = nil
		body.wake(nil)
	}
}

// Go starts fn in a task that the scope owns. It never suspends. It panics if
// the scope has ended.
func (s *Scope) Go(fn func(ctx context.Context) error) *Task {
	s.loop.mustBeInside("Scope.Go")
	return s.loop.spawn(s.owner(), s, fn)
}

// Cancel ends the scope: each wait in it, those that go on included, fails from
// now on with cause. Group then returns cause; a nil cause stands for
// context.Canceled in the waits, and Group returns nil. Cancelling a scope
// again, or one that has ended, does nothing. Any goroutine may call Cancel; it
// never suspends.
func (s *Scope) Cancel(cause error) {
	v := &verdict{err: context.Canceled, cause: cause, origin: s}
	if cause == nil {
		v.cause, v.silent = context.Canceled, true
	}
	s.loop.do(func() { s.cancel(v) })
}

// SetDeadline moves the scope's deadline, at any time before it has passed. The
// zero time means none; a time that has passed cancels the scope on the spot. It
// does not reach beyond the deadlines of the scopes around it, and if one of
// those passes at the same time, that one counts. For a scope that is cancelled
// or has ended it comes too late and does nothing. It never suspends.
func (s *Scope) SetDeadline(t time.Time) {
	s.loop.mustBeInside("Scope.SetDeadline")
	if t.IsZero() {
		s.setDeadline(never)
		return
	}
	s.setDeadline(s.loop.driver.Instant(t))
}

func (s *Scope) setDeadline(at int64) {
	if s.is(markLeft) || s.verdict() != nil {
		return
	}
	x := s.more()
	if x.deadline != nil {
		x.deadline.Cancel()
		x.deadline = nil
	}
	s.face.setDeadline(at)
	if at == never {
		return
	}
	if at <= s.loop.clock() {
		s.expire()
		return
	}
	x.deadline = s.loop.callAt(at, s.expire)
}

// expire cancels s, whose deadline has passed; or the outermost of the scopes
// around it whose deadline was no later, so that at a tie it is the outer one
// that ends, whichever timer the loop came to first.
func (s *Scope) expire() {
	first, at := s, s.face.deadline()
	for p := s; p.parent != nil && !p.is(markShield); {
		if p = p.parent; p.face.deadline() <= at {
			first = p
		}
	}
	first.cancel(&verdict{err: context.DeadlineExceeded, cause: context.DeadlineExceeded, origin: first})
}
