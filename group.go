package rondo

// This file opens scopes around a body and leaves them: Group, Timeout, Deadline,
// Shield, which are one function with four faces. A scope is left when its body
// has returned and its tasks have ended, whatever way they did.

import (
	"context"
	"errors"
	"time"
)

// Group runs body in a scope and returns when body and all tasks started in it
// have ended. The first of them to fail cancels the scope; its errors are
// returned joined, in the order in which they came, without those that only
// say that the scope was cancelled. If the scope above is cancelled, so is this
// one, and Group returns the cause if anything in it was ended by that.
//
// A panic of body or of a task cancels the scope as well; see Runner for where
// it goes. If it is body that panics, nothing is returned, and the errors of the
// tasks count as errors of the scope around it, or go to the Runner's OnError if
// there is none. Group suspends the task until the last one of the scope has
// ended.
func Group(ctx context.Context, body func(g *Scope) error) error {
	return open(ctx, "Group", new(Scope), never, body)
}

// Timeout is Deadline with the time d from now.
func Timeout(ctx context.Context, d time.Duration, body func(ctx context.Context) error) error {
	at := never
	if s := scopeOf(ctx); s != nil {
		at = s.loop.after(d)
	}
	return open(ctx, "Timeout", new(Scope), at, func(s *Scope) error { return body(s) })
}

// Deadline runs body in a scope that is cancelled at time t. It returns what
// Group would, and context.DeadlineExceeded if the deadline ended anything in
// the scope. A body that was finished in spite of it keeps its result. A
// deadline that has passed cancels the scope before body starts.
func Deadline(ctx context.Context, t time.Time, body func(ctx context.Context) error) error {
	at := never
	if s := scopeOf(ctx); s != nil {
		at = s.loop.driver.Instant(t)
	}
	return open(ctx, "Deadline", new(Scope), at, func(s *Scope) error { return body(s) })
}

// Shield runs body in a scope that is not cancelled when ctx is, for clean-up
// that must wait. It runs to its end; that ctx is cancelled shows at the next
// wait after it. Alone among the functions that take a ctx it goes ahead when
// ctx is cancelled already: that is what it is for.
func Shield(ctx context.Context, body func(ctx context.Context) error) error {
	s := new(Scope)
	s.mark(markShield)
	return open(ctx, "Shield", s, never, func(s *Scope) error { return body(s) })
}

// Start starts fn in a task that the scope owns, and waits until fn has called
// started; then it returns nil, and the task goes on. If fn ends before that,
// Start returns its error, which is then no failure of the scope; that fn ended
// well without calling started is an error too. If ctx is cancelled first, Start
// cancels the task, waits for its end, and returns the cause, joined with what
// else the task may have failed with.
//
// This is nursery.start of Python's trio.
func (s *Scope) Start(ctx context.Context, fn func(ctx context.Context, started func()) error) error {
	if fn == nil {
		panic("rondo: Scope.Start with a nil function")
	}
	if _, _, err := enter(ctx, "Scope.Start"); err != nil {
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
		_ = Shield(ctx, func(ctx context.Context) error { _ = t.Wait(ctx); return nil })
		if begun || failure == errNotStarted {
			return err
		}
		echo := verdict{err: context.Canceled, cause: err}
		if news, _ := echo.news(failure); news != nil {
			err = errors.Join(err, news)
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

// open runs body in a scope below ctx's, prepared by prepare, and leaves it as
// the head of this file says. It is all that Group, Timeout, Deadline and
// Shield do.
func open(ctx context.Context, call string, s *Scope, deadline int64, body func(s *Scope) error) error {
	parent, t, err := enter(ctx, call)
	if err != nil && (!s.is(markShield) || t == nil) {
		return err
	}
	if body == nil {
		panic("rondo: " + call + " with a nil body")
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
		s.fail(err)
	}
	s.join(t)
	w.inner = outer
	err = s.result()
	s.end()
	return err
}

// unwind is called, deferred, when open is left, and sees to a scope that has not
// ended: its body panicked or called Goexit, or a callback that ran on this stack
// did, and t is unwinding. The tasks of the scope must not outlive it for that.
func (s *Scope) unwind(t *Task, outer *Scope) {
	if s.is(markLeft) {
		return
	}
	defer s.unwind(t, outer) // while it waits below, a callback may call Goexit
	s.loop.withdraw(t)
	s.cancel(&verdict{err: context.Canceled, cause: context.Canceled, origin: s, silent: true})
	s.join(t)
	t.worker.inner = outer
	s.bequeath(t)
	s.end()
}

// join waits, whatever is cancelled, until the scope's tasks have ended, and then
// ends its Pulls.
func (s *Scope) join(t *Task) {
	// Somebody who holds the scope may start a task in it between the end of the
	// last one and the moment at which this one goes on.
	for s.tasks > 0 || s.pulls() != nil {
		if s.tasks > 0 {
			s.more().body = t
			_ = t.park(nil, nil, Reason{What: "group"})
			continue
		}
		s.cancel(&verdict{err: context.Canceled, cause: context.Canceled, origin: s, silent: true})
		s.closePulls(t)
	}
}

// result is what the function that opened s returns: the errors of body and
// tasks, joined, with the cause of the scope's cancellation if that is what
// some of them came to.
func (s *Scope) result() error {
	x, v := s.extra, s.verdict()
	var errs []error
	echo := false
	if x != nil {
		errs, echo = x.errs, x.echo
	}
	if v != nil && v.counts(s, echo, len(errs)) {
		errs = append(errs, v.cause)
	}
	return join(errs)
}

// counts tells whether the cancellation is among the errors of s, beside n
// others. echo says that something in s was ended by it.
func (v *verdict) counts(s *Scope, echo bool, n int) bool {
	switch {
	case v.origin != s:
		return echo
	case v.silent || v.failed:
		return false
	case v.err == context.DeadlineExceeded:
		return echo || n > 0
	}
	return true
}
