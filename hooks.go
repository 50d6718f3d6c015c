package rondo

// Rondo's own packages use the kernel through internal/kernel, whose variables are set
// here. The types below are the same records under other names, so their methods are no
// part of the public API.

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/pace"
)

type loopDoor Loop

type taskDoor Task

type listDoor WaitList

type scopeDoor Scope

func init() {
	kernel.Of = func(ctx context.Context) kernel.Loop {
		if s := scopeOf(ctx); s != nil {
			return (*loopDoor)(s.loop)
		}
		return nil
	}
	kernel.Tasks = func(ctx context.Context) int { return int(scopeOf(ctx).tasks) }
	kernel.Ended = func(ctx context.Context) bool { return scopeOf(ctx).owner().closed }
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
func (l *loopDoor) Refuses() bool         { return l.inbox.Refuses() }
func (l *loopDoor) AddWakers(n int)       { (*Loop)(l).addWaker(n) }
func (l *loopDoor) GoFunc(fn func())      { goFunc(fn) }
func (l *loopDoor) AddConns(n int) int    { return l.conns.Add(n) }

// A reader from outside may have the old list still, so it stays as it is.
func (l *loopDoor) AddServer(s *kernel.Server) {
	s.Self = s
	l.servers = append(slices.Clip(l.servers), s)
}

func (l *loopDoor) RemoveServer(s *kernel.Server) {
	l.servers = slices.DeleteFunc(slices.Clone(l.servers), func(other *kernel.Server) bool { return other == s })
	s.Self = nil
}

func (l *loopDoor) AddHelpers(n int) { l.helpers += n }
func (l *loopDoor) Helpers() int     { return l.helpers }

func (l *loopDoor) SetEntry(t any, user uintptr) { t.(*Task).ensureExtra().entry = user }

func (l *loopDoor) SetExempt(t any, always bool) { t.(*Task).exempt(always) }

func (l *loopDoor) SetServing(t any) context.Context {
	t.(*Task).serving = true
	return &t.(*Task).scope
}

func (l *loopDoor) OpenServing(ctx context.Context, owner kernel.Owner) kernel.ServingScope {
	above := scopeOf(ctx)
	s := &Scope{host: above.host, extra: &scopeExtra{serving: true, onEmpty: owner.Emptied}}
	s.extra.onFailure = func(_ *Task, v *verdict) {
		cancelled := s.cancelled()
		if s.fail(v); cancelled == nil {
			owner.Failed(v.Rest)
		}
	}
	s.begin((*Loop)(l), above, ctx)
	return (*scopeDoor)(s)
}

func (s *scopeDoor) Context() context.Context { return (*Scope)(s) }

func (s *scopeDoor) Cancel(cause error) {
	(*Scope)(s).cancel(&cancellation{err: context.Canceled, cause: cmp.Or(cause, context.Canceled), origin: (*Scope)(s), silent: true})
}

func (s *scopeDoor) Close() (errs error, closed bool) {
	for d := range s.extra.dependants.All(dependantLinks) {
		d.stopper.stopSoon()
	}
	if s.tasks > 0 || (*Scope)(s).hasDependants() {
		return nil, false
	}
	(*Scope)(s).end()
	return errtree.Join(s.extra.errs), true
}

func (l *loopDoor) Waits(t any) (waits, alone bool) {
	task := t.(*Task)
	return task.state == stateWaiting, task.scope.alone(task)
}

// alone reports whether no task but t runs below s, a scope that t has opened.
func (s *Scope) alone(t *Task) bool {
	for c := range s.children.All(scopeLinks) {
		if c.host != t || !c.alone(t) {
			return false
		}
	}
	return true
}

func (l *loopDoor) SetName(t any, name *string) { t.(*Task).ensureExtra().setName(name) }

func (l *loopDoor) Recovers() bool { return (*Loop)(l).contains() }

func (l *loopDoor) Notice(about string, err error) {
	(*Loop)(l).notice(TaskInfo{Name: about, Loop: l.name}, err)
}

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

// allowance limits the reads and writes of a task between two waits to 256 KiB, or 16
// operations. Otherwise a task whose reads and writes always succeed at once would keep the
// loop to itself.
const (
	allowance     = 256 << 10
	operationCost = allowance / 16
)

func (t *taskDoor) Spend(bytes int) {
	w := t.worker
	w.spent += operationCost + uint32(min(bytes, allowance))
	if w.spent%pace.Operation >= allowance || w.loop.endsShare((*Task)(t)) {
		(*Task)(t).yield()
	}
}

func (t *taskDoor) Reusable() bool {
	s, x := &t.scope, t.extra
	return s.cancelled() == nil && s.extra == nil && s.children.First() == nil && !s.published.Exposed() &&
		(t.joiners == nil || t.joiners.Len() == 0) && (x == nil || x.nested == 0 && (x.rest == nil || x.rest.calls == nil || x.rest.calls.Empty()))
}

func (t *taskDoor) Leave(err error) error { return (*Task)(t).leave(err) }

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
	if err := t.Check(); err != nil {
		return err
	}
	(*WaitList)(w).push(me)
	me.waits(me.worker.inner, Reason(why))
	l := me.scope.loop
	if at := l.depart(me); at != nil { // swap, inlined
		if at.inner = !at.inner; at.inner {
			at.next()
		} else {
			at.yield(unit{})
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
