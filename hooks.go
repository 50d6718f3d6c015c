package rondo

// This file opens the kernel to Rondo's own packages: it fills in what
// internal/kernel declares. The two types below are the same records under other
// names, so their methods are no part of the public API.

import (
	"context"
	"strconv"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
)

type loopDoor Loop

type taskDoor Task

type listDoor WaitList

func init() {
	kernel.Of = func(ctx context.Context) kernel.Loop {
		if s := scopeOf(ctx); s != nil {
			return (*loopDoor)(s.loop)
		}
		return nil
	}
	kernel.TaskOf = taskOf
	kernel.Table = &layoutTable
	kernel.Loops = func() (out []kernel.Loop) {
		for _, l := range loops.All() {
			out = append(out, (*loopDoor)(l))
		}
		return out
	}
}

func taskOf(ctx context.Context) (kernel.TaskName, bool) {
	s := scopeOf(ctx)
	if s == nil {
		return kernel.TaskName{}, false
	}
	t := s.host
	inside := s.loop.inside()
	if inside && s.loop.current != nil {
		t = s.loop.current
	}
	name := "task-" + strconv.FormatUint(t.id, 10)
	if inside {
		name = t.Name()
	}
	return kernel.TaskName{Loop: s.loop.name, Name: name, ID: t.id}, t.id != 0
}

func (l *loopDoor) Driver() driver.Driver { return l.driver }
func (l *loopDoor) Inside() bool          { return (*Loop)(l).inside() }
func (l *loopDoor) Now() int64            { return l.now }
func (l *loopDoor) AddWakers(n int)       { (*Loop)(l).addWaker(n) }
func (l *loopDoor) GoFunc(fn func())      { goFunc(fn) }
func (l *loopDoor) AddConns(n int) int    { return l.conns.Add(n) }

func (l *loopDoor) AddHelpers(n int) { l.helpers += n }
func (l *loopDoor) Helpers() int     { return l.helpers }

func (l *loopDoor) SetEntry(t any, user uintptr) { t.(*Task).ensureExtra().entry = user }

func (l *loopDoor) SetName(t any, name *string) { t.(*Task).ensureExtra().name = name }

func (l *loopDoor) Recovers() bool { return l.runner.Recover }

func (l *loopDoor) Post(fn func()) error { return (*Loop)(l).post(fn) }

func (l *loopDoor) PostFor(id uint64, fn func()) error { return (*Loop)(l).postFor(id, fn) }

func (l *loopDoor) CallAt(at int64, fn func()) kernel.Timer { return (*Loop)(l).callAt(at, fn) }

func (l *loopDoor) Callback(fn func()) (schedule func()) {
	h := &Handle{loop: (*Loop)(l)}
	return func() {
		h.fn = fn
		l.queue.Add(entry{call: h})
	}
}

func (l *loopDoor) WaitList() kernel.WaitList { return new(listDoor) }

func (l *loopDoor) Task() kernel.Task {
	if l.current == nil {
		return nil
	}
	return (*taskDoor)(l.current)
}

func (t *taskDoor) Scope() context.Context { return t.worker.inner }

// Check is rondo.Check of the running task, without the way there: it is called
// before each read and write, and the stack of a task that waits should stay small.
func (t *taskDoor) Check() error {
	s := t.worker.inner
	if c := s.cancelled(); c != nil {
		s.noteCut(c)
		return c.cause
	}
	return nil
}

// allowance is what a task may do between two waits, so that one whose reads and writes
// always succeed at once does not keep the loop to itself: 16 operations, or 256 KiB.
const (
	allowance     = 256 << 10
	operationCost = allowance / 16
)

func (t *taskDoor) Spend(bytes int) {
	w := t.worker
	w.spent += operationCost + uint32(bytes)
	if w.spent >= allowance {
		(*Task)(t).yield()
	}
}

func (t *taskDoor) Reusable() bool {
	s, x := &t.scope, t.extra
	return s.cancelled() == nil && s.extra == nil && s.children.First() == nil && !s.published.Exposed() &&
		(t.joiners == nil || t.joiners.Len() == 0) && (x == nil || x.nested == 0 && (x.rest == nil || x.rest.calls == nil || x.rest.calls.Empty()))
}

func (t *taskDoor) SetSatisfied(fn func() bool) { (*Task)(t).ensureRest().satisfied = fn }

func (t *taskDoor) Shield(body func(ctx context.Context) error) error {
	return Shield(t.worker.inner, body)
}

func (w *listDoor) Park(ctx context.Context, why kernel.Reason) error {
	return (*WaitList)(w).Park(ctx, Reason(why))
}

// ParkTask is Task.park, written out: each frame less on the stack of a task that
// waits for a connection counts, because some 100 bytes decide whether the runtime
// gives such tasks stacks of 2 KiB or 4.
func (w *listDoor) ParkTask(t kernel.Task, why kernel.Reason) error {
	me := (*Task)(t.(*taskDoor))
	l, p := me.scope.loop, me.worker
	if err := t.Check(); err != nil {
		return err
	}
	(*WaitList)(w).push(me)
	me.state, p.reason, p.under, p.since = stateWaiting, Reason(why), p.inner, l.now
	if s := l.leave(me); s != nil { // swap, by hand; see transfer
		if s.inner = !s.inner; s.inner {
			s.next()
		} else {
			s.yield(unit{})
		}
	}
	l.arrive(me)
	return me.outcome()
}

func (w *listDoor) SetOn(on uint64) {
	if first := w.waiting.First(); first != nil {
		first.worker.reason.On = on
	}
}

func (w *listDoor) Name(of any) { w.Of = of }
func (w *listDoor) Wake() bool  { return (*WaitList)(w).Wake() }
func (w *listDoor) Len() int    { return (*WaitList)(w).Len() }
