package rondo

// Group, Contain, Timeout, Deadline and Shield open a scope, run a body in it, and leave the
// scope: all of them call open. A scope is left when its body has returned, panicked or called
// Goexit, and its tasks have ended.

import (
	"context"
	"errors"
	"time"

	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/stacks"
	"github.com/rondo-go/rondo/internal/stdctx"
)

// Group runs body in a new scope and returns when body and all tasks started in the scope have
// ended. The first of them to fail cancels the scope. Group returns their errors, joined in the
// order in which they came, without those that only say that the scope was cancelled. An error
// that says more, such as one of fmt.Errorf that wraps the cause, is always returned. If the
// scope above is cancelled, so is this one; if that ended any wait in it, Group returns the
// cause, even if the error of that wait was ignored.
//
// A panic of body or of a task cancels the scope as well; Runner says where the panic goes.
// If body panics, Group does not return, and the errors of the tasks become errors of the
// enclosing scope, or go to the Runner's OnError if that is the root scope. Group calls body at
// once, in the calling task, and then suspends the task until the last task of the scope has
// ended.
func Group(ctx context.Context, body func(g *Scope) error) error {
	mustNotBeNil(body == nil)
	return open(ctx, new(Scope), never, body)
}

// Contain runs fn as the servers of Rondo run a handler: it returns the error of fn, and those of
// the tasks that fn starts, and they affect nothing else. fn gets its own scope, which owns
// the tasks that are started with it. When fn has returned, Contain cancels the scope and waits
// for those tasks. It returns the errors of fn and of the tasks, joined as by Group, except
// the error of a task for which another task waits, because that one has got it. A panic of fn
// or of such a task is returned as a *PanicError. In a simulation a panic ends the run, so that
// the test sees it, unless the Runner has Recover set.
//
// Use Contain where your own code runs a handler for each message, request or job. It calls fn
// at once, in the calling task, and suspends the task until the last task of the scope has ended.
func Contain(ctx context.Context, fn func(ctx context.Context) error) error {
	mustNotBeNil(fn == nil)
	c := &containing{fn: fn}
	c.scope.extra = &c.extra
	c.extra.serving, c.extra.containing = true, c
	return open(ctx, &c.scope, never, callContained)
}

// A containing has all records of one call of Contain, so that a server allocates once per request.
type containing struct {
	scope Scope
	extra scopeExtra
	fn    func(ctx context.Context) error
	end   cancellation // cancels scope when fn has returned nil
}

// callContained is the body of the scope s of Contain.
func callContained(s *Scope) (err error) {
	c := s.extra.containing
	defer s.catch(&err)
	if err = c.fn(s); err != nil {
		s.fail(s.judge(err)) // here, so that catch also recovers a panic of a method of err
	} else {
		c.end = cancellation{err: context.Canceled, cause: context.Canceled, origin: s, silent: true}
		s.cancel(&c.end)
	}
	return nil
}

// catch is deferred around the function of Contain. It turns a panic into an error.
func (s *Scope) catch(err *error) {
	if s.loop.contains() {
		if v := recover(); v != nil {
			*err = panicError(s.host, s.host.Name(), v)
		}
	}
}

// SetLimit limits the number of tasks of the scope that run at once to n; 0 means no limit. A
// task that Go, Async or Start starts beyond the limit begins when another one has ended, in the
// order of the calls. Go itself does not wait: to read an endless input no faster than tasks end,
// use Map. Tasks that run already go on. SetLimit never suspends. It panics if n is negative, or
// if s is the own scope of a task that Go started, which owns no tasks. A child of package process
// that a task of the scope starts does not count, nor does the body of a request of httptask, nor
// what a socket.Protocol needs for its connections.
//
// A task that waits for another task of the scope may wait for ever, if the limit holds the other
// one back.
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

// Timeout calls Deadline with the time d from now.
func Timeout(ctx context.Context, d time.Duration, body func(ctx context.Context) error) error {
	mustNotBeNil(body == nil)
	at := never
	if s := scopeOf(ctx); s != nil {
		at = s.loop.after(d)
	}
	return open(ctx, new(Scope), at, func(s *Scope) error { return body(s) })
}

// Deadline runs body in a scope that is cancelled at time t. It returns the errors that Group
// would return. If the deadline ended any wait in the scope, the error wraps
// context.DeadlineExceeded; if it ended none, it does not change the result. If the deadline of
// an enclosing scope comes first, Deadline returns the error of that one, and the function that
// opened the enclosing scope will return it too; TimedOut tells the two cases apart. If t has
// passed, the scope is cancelled before body starts. Like Group, Deadline suspends the task
// until the last task of the scope has ended.
func Deadline(ctx context.Context, t time.Time, body func(ctx context.Context) error) error {
	mustNotBeNil(body == nil)
	at := never
	if s := scopeOf(ctx); s != nil {
		at = s.loop.driver.Instant(t)
	}
	return open(ctx, new(Scope), at, func(s *Scope) error { return body(s) })
}

// TimedOut reports whether err comes from a deadline that the caller can handle: that of a
// Timeout or Deadline called with ctx or below it. It returns false if err contains the deadline
// of ctx itself or of an enclosing scope, because then every further wait with ctx fails too. It
// never suspends.
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

// Shield runs body in a scope that is not cancelled when ctx is. Use it for clean-up that must
// wait. If ctx is cancelled, before or during the call, body still runs to its end, and the next
// wait after Shield fails. No other function that waits with a ctx goes ahead if the ctx is
// cancelled already. Waits with the ctx of context.WithoutCancel are shielded too. Like Group,
// Shield suspends the task until the last task of the scope has ended.
func Shield(ctx context.Context, body func(ctx context.Context) error) error {
	mustNotBeNil(body == nil)
	s := &Scope{shield: true}
	return open(ctx, s, never, func(s *Scope) error { return body(s) })
}

// Start starts fn in a task that the scope owns, and suspends the calling task until fn calls
// started. Then it returns nil, and the new task goes on. If fn returns an error before it calls
// started, Start returns that error, and the scope does not fail. If fn returns nil without
// calling started, Start returns an error too. If ctx is cancelled first, Start cancels the new
// task, waits for its end, and returns the cause, joined with any other error of fn.
//
// It is modelled on nursery.start of Python's trio.
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
		// WaitAny does not take the task's error. If it is not returned here, it goes to the scope.
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
	// fn has returned, but the task may still be ending the dependants of its own scope.
	_ = Shield(ctx, func(ctx context.Context) error { err = t.Wait(ctx); return nil })
	if err != nil { // It panicked.
		return err
	}
	return failure
}

var errNotStarted = errors.New("rondo: the task of Scope.Start ended without calling started")

// open runs body in the scope s, which it puts below the scope of ctx, and leaves s as the head
// of this file says.
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
	defer s.unwind(w, outer)
	if err = body(s); err != nil {
		s.fail(s.judge(err))
	}
	t, may := s.leaver()
	if !may {
		panic("rondo: " + stacks.CalledAs() + " whose body, in a coroutine, has returned in a callback or on a goroutine that is not a task of the loop: resume the coroutine in a task")
	}
	if t != nil {
		t.pays(s.loop) // at the end, because body must be called at once
		s.join(t)
	}
	w.leave(s, outer)
	err = s.result()
	s.end()
	return err
}

// result returns the error of the function that opened s: the errors of body and tasks, joined.
// The cause of the cancellation of s is added if it counts, and is not in these errors already.
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

// counts reports whether c, the cancellation of s, is an error of s. A cancellation from above,
// and a deadline, count if they have ended a wait or a task in s. Cancel(nil) does not count, nor
// does a failure of body or of a task, which is among the errors already.
func (c *cancellation) counts(s *Scope) bool {
	switch {
	case c.origin != s || c.err == context.DeadlineExceeded:
		return s.cut
	case c.silent || c.failed:
		return false
	}
	return true
}

// SetDeadline sets, moves or removes the scope's deadline. The zero time means no deadline. A
// time that has passed cancels the scope at once. The deadlines of enclosing scopes still
// apply; if one of them is at the same time, the enclosing scope is cancelled. SetDeadline does
// nothing if the scope is cancelled or has ended. It never suspends.
func (s *Scope) SetDeadline(t time.Time) {
	s.loop.mustBeInside("Scope.SetDeadline")
	if t.IsZero() {
		s.setDeadline(never)
		return
	}
	s.setDeadline(s.loop.driver.Instant(t))
}
