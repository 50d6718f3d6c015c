package rondo

// This file has the wait for a task's end, and how something of a loop is waited
// for from outside it: by a goroutine that is none of its tasks, or by a task of
// another loop.
//
// The law: a wait from outside gets the answer that a task of the loop gets, also
// after the loop's end; ErrLoopClosed if the loop has ended before there was one.
// And a wait that was given up leaves nothing behind.

import (
	"context"
	"errors"
)

// awaited is what can be waited for from outside its loop.
type awaited interface {
	// whenDone calls fn as a callback when the thing has happened, unless stop
	// comes first. It is called on the loop, and so is stop.
	whenDone(fn func()) (stop func() bool)

	// resolved reports whether it has happened, and with which error. It is called
	// on the loop, or after the loop's end.
	resolved() (done bool, err error)
}

// Wait waits until t has ended and returns its error. Cancelling ctx ends the
// waiting, not the task, and Wait then returns the cause. Any goroutine may
// call it: a goroutine that is not a task of the loop blocks alone. It returns
// ErrLoopClosed if the loop ended before the task could start.
func (t *Task) Wait(ctx context.Context) error {
	l := t.scope.loop
	if !l.inside() {
		return l.waitOutside(ctx, "Task.Wait", t)
	}
	s, me, err := l.enterWait(ctx)
	if err != nil {
		return err
	}
	if t == me {
		panic("rondo: Task.Wait of the task itself, which would never end: return, or wait in another task")
	}
	if t.state != stateDone {
		t.joiners.Owner = t
		t.joiners.push(me)
		if err := me.park(s, ctx, Reason{What: "task", On: t.id}); err != nil {
			return err
		}
	}
	t.observe()
	return t.err
}

func (t *Task) whenDone(fn func()) (stop func() bool) {
	t.observed = true
	return t.OnDone(fn)
}

func (t *Task) resolved() (done bool, err error) {
	if t.state != stateDone {
		return false, nil
	}
	if !t.scope.loop.inbox.Closed() { // after that nobody is told of errors any more
		t.observe()
	}
	return true, t.err
}

// waitOutside waits for something of this loop on a goroutine that is not one
// of its tasks.
func (l *Loop) waitOutside(ctx context.Context, call string, a awaited) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if s := scopeOf(ctx); s != nil && s.loop != l && s.loop.inside() {
		return l.waitAcross(ctx, s.loop, call, a)
	}
	result := make(chan error, 1)
	if stop, ended := l.whenResolved(a, func(err error) { result <- err }); ended == nil {
		select {
		case err := <-result:
			return err
		case <-ctx.Done():
			stop()
			return context.Cause(ctx)
		case <-l.inbox.Ended():
		}
	}
	<-l.inbox.Ended()
	return l.lastOutcome(call, a)
}

// whenResolved calls answer on l when a has happened, unless stop comes first. The
// error is that of a loop that has ended. Any goroutine may call it.
func (l *Loop) whenResolved(a awaited, answer func(err error)) (stop func(), err error) {
	var forget func() bool // touched on l only
	err = l.post(func() {
		forget = a.whenDone(func() {
			_, err := a.resolved()
			answer(err)
		})
	})
	return func() { _ = l.post(func() { forget() }) }, err
}

// lastOutcome is what a wait returns when the loop has ended.
func (l *Loop) lastOutcome(call string, a awaited) error {
	if done, err := a.resolved(); done {
		return err
	}
	return wrap(call, ErrLoopClosed)
}

// waitAcross is waitOutside for a task of the loop mine.
func (l *Loop) waitAcross(ctx context.Context, mine *Loop, call string, a awaited) error {
	s, t, err := mine.enterWait(ctx)
	if err != nil {
		return err
	}
	var list WaitList
	var result error
	answer := func(err error) {
		_ = mine.post(func() {
			result = err
			list.Wake()
		})
	}
	stop, _ := l.whenResolved(a, answer)
	forget := l.inbox.AtEnd(func() { answer(l.lastOutcome(call, a)) })
	mine.addWaker(1)
	list.push(t)
	err = t.park(s, ctx, Reason{What: "another loop"})
	mine.addWaker(-1)
	forget()
	if err != nil {
		stop()
		return err
	}
	return result
}

// WaitAny waits until one of the tasks has ended, and returns it; the others go
// on. Its Err returns its error. If several have ended,
// within a turn of the loop or before the call, it is the first of them in the
// order of the arguments. If ctx is cancelled first WaitAny returns the cause
// and no task. The tasks must be of ctx's loop.
//
// To wait for no task at all is an error. WaitAny panics if one of the tasks is
// nil, or the one that calls.
func WaitAny(ctx context.Context, ts ...*Task) (*Task, error) {
	s, me, err := enter(ctx)
	if err != nil {
		return nil, err
	}
	if len(ts) == 0 {
		return nil, errors.New("rondo: WaitAny without tasks: none can end")
	}
	for _, t := range ts {
		if t == nil {
			panic("rondo: WaitAny with a nil Task")
		}
		if t == me {
			panic("rondo: WaitAny of the task itself: name other tasks")
		}
	}
	if t := ended(ts); t != nil {
		return t, nil
	}
	var list WaitList
	why := Reason{What: "tasks"}
	if len(ts) == 1 {
		list.Owner, why = ts[0], Reason{What: "task", On: ts[0].id}
	}
	for _, t := range ts {
		defer t.onDone(s.loop.direct(func() { list.Wake() }))()
	}
	list.push(me)
	if err := me.park(s, ctx, why); err != nil {
		return nil, err
	}
	return ended(ts), nil
}

// ended returns the first of the tasks that has ended, or nil.
func ended(ts []*Task) *Task {
	for _, t := range ts {
		if t.Done() {
			return t
		}
	}
	return nil
}
