package rondo

// Group, Timeout, Deadline and Shield open a scope around a body and leave it; they are one
// function with four names. A scope is left when its body has returned and its tasks have
// ended, whatever way they did.

import (
	"context"
	"errors"
	"time"

	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/stdctx"
)

// Group runs body in a scope and returns when body and all tasks started in it have
// ended. The first of them to fail cancels the scope; its errors are returned joined, in
// the order in which they came, without those that only say that the scope was cancelled.
// An error that says more, as one of fmt.Errorf with the cause in it, is always returned.
// If the scope above is cancelled, so is this one, and Group returns the cause if that
// ended any wait in it, whatever was made of that wait's error.
//
// A panic of body or of a task cancels the scope as well; see Runner for where it goes.
// If it is body that panics, nothing is returned, and the errors of the tasks count as
// errors of the scope around it, or go to the Runner's OnError if there is none. Group
// calls body at once, in the calling task, and suspends that until the last task of the scope
// has ended.
func Group(ctx context.Context, body func(g *Scope) error) error {
	mustNotBeNil(body == nil)
	return open(ctx, new(Scope), never, body)
}

// Contain runs fn as the servers of Rondo run a handler: its failure, and that of what it
// starts, is one error, that of Contain, and ends nothing else. fn gets a scope of its own,
// which owns the tasks that are started with it. When fn has returned, the scope is
// cancelled and its tasks are waited for. Contain returns the errors of fn and of those
// tasks joined, as Group does; the error of a task for which another one waits is the
// waiter's. A panic of fn or of such a task is among them, as a *PanicError. In a simulation
// a panic ends the run, unless the Runner has Recover set: a test must see it.
//
// Use it where your own code calls functions for someone else: for each message, request or
// job. Contain suspends the task until the last one of the scope has ended.
func Contain(ctx context.Context, fn func(ctx context.Context) error) error {
	mustNotBeNil(fn == nil)
	return open(ctx, &Scope{extra: &scopeExtra{serving: true}}, never, func(s *Scope) (err error) {
		defer s.catch(&err)
		if err = fn(s); err != nil {
			s.fail(s.judge(err)) // here, where a panic of a method of err is one of fn
		} else {
			s.cancel(&cancellation{err: context.Canceled, cause: context.Canceled, origin: s, silent: true})
		}
		return nil
	})
}

// catch is called, deferred, when the function of Contain ends, and makes its panic an error.
func (s *Scope) catch(err *error) {
	if s.loop.contains() {
		if v := recover(); v != nil {
			*err = panicError(s.host, s.host.Name(), v)
		}
	}
}

// SetLimit limits how many tasks of the scope run at once to n; 0 means any number. A task that
// is started beyond that, by Go, Async or Start, has not begun until another one has ended, in
// the order of their starts. Go does not wait for that: to pull an endless input no further
// than needed, use Map. Tasks that run already go on. SetLimit never suspends. It panics if n
// is negative, or if s is the own scope of a task that Go started, which owns no tasks.
//
// A task that waits for another one of the same scope may wait for ever: both must run at once.
func (s *Scope) SetLimit(n int) {
	s.loop.mustBeInside("Scope.SetLimit")
	if n < 0 {
		panic("rondo: Scope.SetLimit with a negative limit")
	}
	if s.isOwn() && !s.serves() {
		panic("rondo: Scope.SetLimit of a task's own scope; call it on the scope of a Group")
	}
	s.ensureExtra().limit = n
	s.startHeld()
}

// Timeout is Deadline with the time d from now.
func Timeout(ctx context.Context, d time.Duration, body func(ctx context.Context) error) error {
	mustNotBeNil(body == nil)
	at := never
	if s := scopeOf(ctx); s != nil {
		at = s.loop.after(d)
	}
	return open(ctx, new(Scope), at, func(s *Scope) error { return body(s) })
}

// Deadline runs body in a scope that is cancelled at time t. It returns what Group would, and
// an error that wraps context.DeadlineExceeded if the deadline ended any wait in the scope. A
// body of which no wait was ended keeps its result. If the deadline of a scope around it comes
// first, that one's error is returned, and that scope's function will return it too; TimedOut
// tells the two apart. A deadline that has passed cancels the scope before body starts.
func Deadline(ctx context.Context, t time.Time, body func(ctx context.Context) error) error {
	mustNotBeNil(body == nil)
	at := never
	if s := scopeOf(ctx); s != nil {
		at = s.loop.driver.Instant(t)
	}
	return open(ctx, new(Scope), at, func(s *Scope) error { return body(s) })
}

// TimedOut reports whether err came of a deadline that the caller may handle: of a
// Timeout or Deadline within ctx. It is false if it was the deadline of ctx itself or of
// a scope around it, also if it is joined with another: then every further wait with ctx
// fails too. It never suspends.
//
//	err := rondo.Timeout(ctx, time.Second, ask)
//	if rondo.TimedOut(ctx, err) {
//		// ask took too long; ctx goes on
//	}
func TimedOut(ctx context.Context, err error) bool {
	if s := scopeOf(ctx); s != nil {
		if c := s.cancelled(); c != nil && errtree.Contains(err, c.cause) {
			return false
		}
	}
	return errtree.Any(err, func(err error) bool { _, ok := err.(*stdctx.DeadlineError); return ok })
}

// Shield runs body in a scope that is not cancelled when ctx is, for clean-up that must
// wait. It runs to its end; that ctx is cancelled shows at the next wait after it. Alone
// among the functions that take a ctx it goes ahead when ctx is cancelled already: that
// is what it is for. Waits with the ctx of context.WithoutCancel are shielded too.
func Shield(ctx context.Context, body func(ctx context.Context) error) error {
	mustNotBeNil(body == nil)
	s := &Scope{shield: true}
	return open(ctx, s, never, func(s *Scope) error { return body(s) })
}

// Start starts fn in a task that the scope owns, and waits until fn has called started;
// then it returns nil, and the task goes on. If fn ends before that, Start returns its
// error, which is then no failure of the scope; that fn ended well without calling
// started is an error too. If ctx is cancelled first, Start cancels the task, waits for
// its end, and returns the cause, joined with what else the task may have failed with.
//
// This is nursery.start of Python's trio.
func (s *Scope) Start(ctx context.Context, fn func(ctx context.Context, started func()) error) error {
	mustNotBeNil(fn == nil)
	if _, _, err := enter(ctx); err != nil {
		return err
	}
	var ready Event
	begun := false
	failure := errNotStarted
	t := s.Go(func(ctx context.Context) error {
		defer ready.Set()
		err := fn(ctx, func() { begun = true; ready.Set() })
		if !begun && err != nil {
			failure, err = err, nil
		}
		return err
	})
	err := ready.Wait(ctx)
	if err != nil {
		t.Cancel(err)
		// Without a look at its error: one that is not returned here goes to the scope.
		_ = Shield(ctx, func(ctx context.Context) error { _, err := WaitAny(ctx, t); return err })
		if begun || failure == errNotStarted {
			return err
		}
		cancelled := cancellation{err: context.Canceled, cause: err}
		if v := cancelled.judge(failure); v.Rest != nil {
			err = errors.Join(err, v.Rest)
		}
		return err
	}
	if begun {
		return nil
	}
	// Its function has ended; what it leaves behind in its own scope may yet have to.
	_ = Shield(ctx, func(ctx context.Context) error { err = t.Wait(ctx); return nil })
	if err != nil { // It panicked.
		return err
	}
	return failure
}

var errNotStarted = errors.New("rondo: the task of Scope.Start ended without calling started")

// open runs body in the scope s, below ctx's, and leaves it as the head of this file
// says. It is all that Group, Timeout, Deadline and Shield do.
func open(ctx context.Context, s *Scope, deadline int64, body func(s *Scope) error) error {
	find := enter
	if s.shield {
		find = locate
	}
	parent, t, err := find(ctx)
	if err != nil {
		return err
	}
	s.host = t
	s.begin(parent.loop, parent, ctx)
	if deadline != never {
		s.setDeadline(deadline)
	}
	w := t.worker
	outer := w.inner
	w.inner = s
	defer s.unwind(t, outer)
	if err = body(s); err != nil {
		s.fail(s.judge(err))
	}
	t.pays(s.loop) // here and not at the start: body is called at once
	s.join(t)
	w.inner = outer
	err = s.result()
	s.end()
	return err
}

// result is what the function that opened s returns: the errors of body and tasks, joined, with
// the cause of the scope's cancellation if that is what some of them came to.
func (s *Scope) result() error {
	var errs []error
	if s.extra != nil {
		errs = s.extra.errs
	}
	if c := s.cancelled(); c != nil && c.counts(s) && (errs == nil || !s.extra.named) {
		errs = append(errs, c.cause)
	}
	return errtree.Join(errs)
}

// counts reports whether the cancellation is among the errors of s. One that comes
// from above, or a deadline, is if it has ended something in s.
func (c *cancellation) counts(s *Scope) bool {
	switch {
	case c.origin != s || c.err == context.DeadlineExceeded:
		return s.cut
	case c.silent || c.failed:
		return false
	}
	return true
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
