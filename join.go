package rondo

// This file has the wait for a task's end, and how something of a loop is waited
// for from outside it: by a goroutine that is none of its tasks, or by a task of
// another loop.
//
// The law: the one who waits registers on the loop of the thing, and is taken off
// again when it stops waiting, so nothing is left behind. If that loop ends first,
// the wait ends with ErrLoopClosed. A task of another loop is suspended, any other
// goroutine is blocked.

import "context"

// Wait waits until t has ended and returns its error. Cancelling ctx ends the
// waiting, not the task, and Wait then returns the cause. Any goroutine may
// call it: a goroutine that is not a task of the loop blocks alone.
func (t *Task) Wait(ctx context.Context) error {
	l := t.scope.loop
	if !l.inside() {
		return l.waitOutside(ctx, t.whenDone)
	}
	s, me, err := l.enterWait(ctx)
	if err != nil {
		return err
	}
	if t == me {
		panic("rondo: Task.Wait of the task itself")
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

// whenDone calls done on the loop with the task's error once it has ended.
func (t *Task) whenDone(done func(err error)) {
	t.observed = true
	if t.state == stateDone {
		t.observe()
		done(t.err)
		return
	}
	before := t.ensureExtra().onEnd
	t.extra.onEnd = func(err error) {
		if before != nil {
			before(err)
		}
		done(err)
	}
}

// waitOutside waits for something of this loop on a goroutine that is not one
// of its tasks. when is called on the loop, and calls done there when the thing
// has happened. ctx ends the waiting.
func (l *Loop) waitOutside(ctx context.Context, when func(done func(err error))) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if s := scopeOf(ctx); s != nil && s.loop != l && s.loop.inside() {
		return l.waitAcross(ctx, s.loop, when)
	}
	result := make(chan error, 1)
	if err := l.post(entry{call: &Handle{loop: l, fn: func() { when(func(err error) { result <- err }) }}}); err != nil {
		// The loop has ended, so nothing changes any more: ask where we are.
		<-l.inbox.ended
		when(func(err error) { result <- err })
		select {
		case err := <-result:
			return err
		default:
			return err
		}
	}
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.inbox.ended:
		select {
		case err := <-result:
			return err
		default:
			return wrap("Wait", ErrLoopClosed)
		}
	}
}

// waitAcross is waitOutside for a task of the loop mine.
func (l *Loop) waitAcross(ctx context.Context, mine *Loop, when func(done func(err error))) error {
	s, t, err := mine.enterWait(ctx)
	if err != nil {
		return err
	}
	var list WaitList
	var result error
	err = l.post(entry{call: &Handle{loop: l, fn: func() {
		when(func(err error) {
			_ = mine.post(entry{call: &Handle{loop: mine, fn: func() {
				result = err
				list.Wake()
			}}})
		})
	}}})
	if err != nil {
		return err
	}
	mine.addWaker(1)
	defer mine.addWaker(-1)
	list.push(t)
	if err := t.park(s, ctx, Reason{What: "future"}); err != nil {
		return err
	}
	return result
}
