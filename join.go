package rondo

// Waits for the end of a task; and waits for something of a loop from outside it, by a
// goroutine that is none of its tasks, or by a task of another loop.
//
// The law: a wait from outside gets the answer that a task of the loop gets, also
// after the loop's end; ErrLoopClosed if the loop has ended before there was one.
// And a wait that was given up leaves nothing behind, and has no error that others
// could get, unless a Select takes another case while the answer is under way.

import (
	"context"
	"errors"

	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/result"
)

// awaited is implemented by everything that can be waited for from outside its loop.
type awaited interface {
	// whenDone calls fn when the thing has happened, unless stop is called first. It calls fn
	// at that very moment, so that the error counts as observed. fn must not wait, and runs
	// nothing of the program. whenDone is called on the loop, and so is stop.
	whenDone(fn func()) (stop func() bool)

	// resolved reports whether it has happened, and with which error. It is called
	// on the loop, or after the loop's end.
	resolved() (done bool, err error)

	// observe records that a wait returns the error. It is called on the loop.
	observe()
}

// Wait waits until t has ended and returns its error. Cancelling ctx ends the waiting, not the
// task, and Wait then returns the cause. Any goroutine may call it: one that runs no task
// simply blocks. A task of another loop needs a ctx of its own loop, and is suspended. Wait
// returns ErrLoopClosed if the loop ended before the task could start.
func (t *Task) Wait(ctx context.Context) error {
	l := t.scope.loop
	s, me, err := l.enterFrom(ctx)
	if err != nil {
		return err
	}
	if me == nil {
		return l.waitOutside(ctx, "Task.Wait", t)
	}
	if t == me {
		panic("rondo: Task.Wait of the task itself, which would never end: return, or wait in another task")
	}
	if t.state != stateDone {
		t.joinerList().push(me)
		if err := me.park(s, ctx, Reason{What: "task", On: t.id}); err != nil {
			return err
		}
	} else {
		me.pays(s.loop)
	}
	t.observe()
	return t.err
}

// joinerList returns the list of those that wait for t, which has not ended.
func (t *Task) joinerList() *WaitList {
	if t.joiners == nil {
		t.joiners = t.scope.loop.newWaitList()
		t.joiners.Owner = t
	}
	return t.joiners
}

// newWaitList returns an empty list. The loop keeps one that is used again and again.
func (l *Loop) newWaitList() *WaitList {
	list := l.spare
	if l.spare = nil; list == nil {
		list = new(WaitList)
	}
	return list
}

func (t *Task) whenDone(fn func()) (stop func() bool) { return t.onDone(t.scope.loop.direct(fn)) }

func (t *Task) resolved() (done bool, err error) {
	if t.state != stateDone {
		return false, nil
	}
	return true, t.err
}

// An answer is the error with which a wait from outside ends, unless the wait is given up: then the
// value is false. The loop that answers and the caller that gives up may do so at the same moment.
// The first of them decides, so an error counts as observed if and only if the wait returns it.
type answer struct{ result.Result[bool] }

// give makes err the answer. It returns false if the wait was given up, or has an answer.
func (a *answer) give(err error) bool { return a.Set(true, err) }

// giveUp gives up the wait. But if there is an answer already, it returns true and the answer.
func (a *answer) giveUp() (given bool, err error) {
	a.Set(false, nil)
	return a.Get()
}

// waitOutside waits for something of this loop on a goroutine that is not one of its tasks. A
// task of another loop needs a ctx of that loop: with any other one it would hold its loop.
func (l *Loop) waitOutside(ctx context.Context, call string, a awaited) error {
	if mine := callersLoop(); mine != nil {
		return l.waitAcross(ctx, mine, call, a)
	}
	if ctx.Err() != nil {
		return causeOf(ctx)
	}
	canceled := ctx.Done()
	var answer answer
	answered := make(chan struct{})
	if stop, ended := l.whenResolved(a, &answer, func() { close(answered) }); ended == nil {
		select {
		case <-answered:
			_, err := answer.Get()
			return err
		case <-canceled:
			if given, err := answer.giveUp(); given {
				return err
			}
			stop()
			return causeOf(ctx)
		case <-l.inbox.Ended():
		}
	}
	<-l.inbox.Ended()
	return l.lastOutcome(call, a)
}

// whenResolved gives answer on l when a has happened, and then calls fn, unless the wait is given
// up or stop comes first. The error is that of a loop that has ended. Any goroutine may call it.
func (l *Loop) whenResolved(a awaited, answer *answer, fn func()) (stop func(), err error) {
	var forget func() bool // touched on l only
	err = l.post(func() {
		forget = a.whenDone(func() {
			if _, err := a.resolved(); answer.give(err) {
				a.observe()
				fn()
			}
		})
	})
	return func() { _ = l.post(func() { forget() }) }, err
}

// lastOutcome returns the result of a wait for a when the loop has ended.
func (l *Loop) lastOutcome(call string, a awaited) error {
	if done, err := a.resolved(); done {
		return err
	}
	return wrap(call, ErrLoopClosed)
}

// waitAcross is waitOutside for a task of the loop mine.
func (l *Loop) waitAcross(ctx context.Context, mine *Loop, call string, a awaited) error {
	if s := scopeOf(ctx); s != nil && s.loop != mine {
		return s.loop.misuseOutside(call)
	}
	s, t, err := mine.enterWait(ctx)
	if err != nil {
		return err
	}
	w := across{awaited: a, call: call, theirs: l}
	answered := false
	w.subscribe(mine)
	x := t.ensureRest()
	x.satisfied = func() bool { given, _ := w.answer.giveUp(); return given }
	defer func() { // also if a method of ctx panics
		x.satisfied = nil
		w.unsubscribe(answered)
	}()
	w.list.push(t)
	if err := t.park(s, ctx, Reason{What: "another loop"}); err != nil {
		return err
	}
	answered = true
	_, err = w.answer.Get()
	return err
}

// across is the wait of a task for something of another loop, theirs.
type across struct {
	awaited
	call   string
	theirs *Loop
	mine   *Loop
	list   WaitList
	of     kernel.Remote // what is waited for, for people
	answer *answer
	stop   func()
	forget func()
}

// subscribe asks the other loop to wake what waits in the list.
func (w *across) subscribe(mine *Loop) {
	w.mine, w.list.Of = mine, &w.of
	w.of.Loop = w.theirs.name
	if t, ok := w.awaited.(*Task); ok {
		w.of.Task.Store(t.id)
	}
	answer := new(answer) // a case that waits again gets another one
	w.answer = answer
	wake := func() { _ = mine.post(func() { w.list.WakeAll() }) }
	w.stop, _ = w.theirs.whenResolved(w.awaited, answer, wake)
	w.forget = w.theirs.inbox.AtEnd(func() {
		if answer.give(w.theirs.lastOutcome(w.call, w.awaited)) {
			wake()
		}
	})
	mine.addWaker(1)
}

// unsubscribe is called when the wait is over, with or without an answer.
func (w *across) unsubscribe(answered bool) {
	w.mine.addWaker(-1)
	w.forget()
	if !answered {
		_, _ = w.answer.giveUp()
		w.stop()
	}
}

// acrossCase is across as a case of a Select, or of several: of all that wait with it, the first
// subscribes, and the last unsubscribes. If that one takes another case when the answer is under
// way, the answer is for the next Select. result returns the result after an answer without an
// error.
type acrossCase struct {
	across
	waiting int
	done    func() bool
	result  func() error
}

func (c *acrossCase) Try(context.Context, any) (bool, error) {
	if c.answer != nil {
		if given, _ := c.answer.Get(); given {
			return true, c.outcome()
		}
	}
	if c.done == nil || !c.done() {
		return false, nil
	}
	return true, c.result()
}

func (c *acrossCase) Begin(ctx context.Context) (*WaitList, Reason) {
	if c.waiting++; c.waiting == 1 {
		c.subscribe(scopeOf(ctx).loop)
	}
	return &c.list, Reason{What: "another loop"}
}

func (c *acrossCase) End(_ any, woken bool) error {
	if c.waiting--; c.waiting == 0 {
		c.unsubscribe(woken)
	}
	if !woken {
		return nil
	}
	return c.outcome()
}

// outcome returns the result of the case after the answer.
func (c *acrossCase) outcome() error {
	if _, err := c.answer.Get(); err != nil || c.result == nil {
		return err
	}
	return c.result()
}

// WaitCase is Wait as a case of a Select. The task may belong to another loop. That loop has to
// be asked, so such a case is not ready at the call, unless an earlier Select with it has asked.
func (t *Task) WaitCase() Case {
	l := t.scope.loop
	if l == nil {
		l.mustBeInside("Task.WaitCase")
	}
	if !l.inside() {
		return Case{On: &acrossCase{across: across{awaited: t, call: "Select", theirs: l}}}
	}
	return Case{On: (*taskCase)(t)}
}

type taskCase Task

func (c *taskCase) Try(ctx context.Context, _ any) (bool, error) {
	t := (*Task)(c)
	switch l := t.scope.loop; {
	case scopeOf(ctx).loop != l:
		return true, misuse(errOtherLoop)
	case t == l.current:
		panic("rondo: Select with the calling task itself")
	case t.state != stateDone:
		return false, nil
	}
	t.observe()
	return true, t.err
}

func (c *taskCase) Begin(context.Context) (*WaitList, Reason) {
	return (*Task)(c).joinerList(), Reason{What: "task", On: c.id}
}

// End need not observe the error: finish does, if a task waits.
func (c *taskCase) End(any, bool) error { return c.err }

// WaitAny waits until one of the tasks has ended, and returns it; the others go on. Its
// Err returns its error. If several have ended, within a turn of the loop or before the
// call, it is the first of them in the order of the arguments. If ctx is cancelled first
// WaitAny returns the cause and no task.
//
// To wait for no task at all is an error, and so is a task of another loop than ctx's. WaitAny
// panics if one of the tasks is nil, or the one that calls.
func WaitAny(ctx context.Context, ts ...*Task) (*Task, error) {
	s, me, err := enter(ctx)
	if err != nil {
		return nil, err
	}
	if len(ts) == 0 {
		return nil, errors.New("rondo: WaitAny without tasks: none can end")
	}
	for _, t := range ts {
		switch {
		case t == nil:
			panic("rondo: WaitAny with a nil Task")
		case t == me:
			panic("rondo: WaitAny of the task itself: name other tasks")
		case t.scope.loop != s.loop:
			return nil, misuse(errOtherLoop)
		}
	}
	if t := ended(ts); t != nil {
		me.pays(s.loop)
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
		if t.state == stateDone {
			return t
		}
	}
	return nil
}

// Tasks describes the live tasks of ctx's loop, in the order in which they were started. Any
// goroutine may call it. If the caller is a task of another loop, it is suspended until ctx's
// loop answers. A callback of another loop must not call Tasks; a goroutine that runs no task
// simply blocks. Tasks returns nil if ctx belongs to no loop, if the loop has ended, or if the
// suspended caller is cancelled. inspect.Snapshot describes the tasks of all loops of the
// process.
func Tasks(ctx context.Context) []TaskInfo {
	s := scopeOf(ctx)
	if s == nil {
		return nil
	}
	l := s.loop
	if l.inside() {
		return l.snapshot()
	}
	mine := callersLoop()
	if mine == nil {
		answer := make(chan []TaskInfo, 1)
		if l.Post(func() { answer <- l.snapshot() }) != nil {
			return nil
		}
		return <-answer
	}
	if mine.current == nil {
		panic("rondo: Tasks of another loop in a callback: callbacks must not wait; start a task with Go")
	}
	listed := &listing{loop: l}
	if l.waitAcross(mine.current.worker.inner, mine, "Tasks", listed) != nil {
		return nil
	}
	return listed.infos
}

// A listing is a list of a loop's tasks, which a task of another loop waits for.
type listing struct {
	loop  *Loop
	infos []TaskInfo
}

func (t *listing) whenDone(fn func()) (stop func() bool) {
	t.infos = t.loop.snapshot()
	fn()
	return func() bool { return false }
}

// resolved says yes in any case: if the loop has ended before, the list is nil, and Tasks returns
// that.
func (t *listing) resolved() (done bool, err error) { return true, nil }

func (t *listing) observe() {}
