package rondo

// This file opens scopes around a body and leaves them: Group, Timeout, Deadline and
// Shield, which are one function with four names. A scope is left when its body
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
	s := &Scope{shield: true}
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
		cancelled := cancellation{err: context.Canceled, cause: err}
		if rest, _ := cancelled.withoutCancel(failure); rest != nil {
			err = errors.Join(err, rest)
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

// open runs body in the scope s, below ctx's, and leaves it as
// the head of this file says. It is all that Group, Timeout, Deadline and
// Shield do.
func open(ctx context.Context, call string, s *Scope, deadline int64, body func(s *Scope) error) error {
	parent, t, err := enter(ctx, call)
	if err != nil && (!s.shield || t == nil) {
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

// result is what the function that opened s returns: the errors of body and
// tasks, joined, with the cause of the scope's cancellation if that is what
// some of them came to.
func (s *Scope) result() error {
	x, c := s.extra, s.cancelled()
	var errs []error
	sawCancel := false
	if x != nil {
		errs, sawCancel = x.errs, x.sawCancel
	}
	if c != nil && c.counts(s, sawCancel, len(errs)) {
		errs = append(errs, c.cause)
	}
	return join(errs)
}

// counts reports whether the cancellation is among the errors of s, beside n
// others. sawCancel says that something in s was ended by it.
func (c *cancellation) counts(s *Scope, sawCancel bool, n int) bool {
	switch {
	case c.origin != s:
		return sawCancel
	case c.silent || c.failed:
		return false
	case c.err == context.DeadlineExceeded:
		return sawCancel || n > 0
	}
	return true
}
