package rondo

// A Future is a place for one result, set once and read by many. It may be set and read
// from any goroutine, so its result is under a lock, in internal/result; tasks that wait
// for it are in a WaitList, as in every wait.

import (
	"cmp"
	"context"
	"reflect"

	"github.com/rondo-go/rondo/internal/result"
	"github.com/rondo-go/rondo/internal/stacks"
)

// A Future holds the result of something: a value or an error, set once. It
// belongs to a loop. Make one with NewFuture, Async or Submit.
type Future[T any] struct {
	loop    *Loop
	waiters *WaitList // nil until there is one; touched on the loop only
	result  result.Result[T]
	task    *Task       // written on the loop with the result's lock
	rest    *futureRest // touched on the loop only
}

// futureRest has the fields that few Futures need.
type futureRest struct {
	cancel  func() // cancels the task when it comes
	calls   calls  // of OnDone
	exposed int32  // how many of them keep the loop from being in deadlock
}

func (f *Future[T]) ensureRest() *futureRest {
	if f.rest == nil {
		f.rest = new(futureRest)
	}
	return f.rest
}

// NewFuture makes a Future of ctx's loop. It panics if ctx belongs to none.
//
// Any goroutine may set it, so a loop in which a task waits for it is never reported as
// deadlocked, unless the loop is simulated.
func NewFuture[T any](ctx context.Context) *Future[T] {
	return &Future[T]{loop: mustHaveLoop(ctx).loop}
}

// Async starts fn as Go does, and returns a Future of its result.
//
//go:noinline
func Async[T any](ctx context.Context, fn func(ctx context.Context) (T, error)) *Future[T] {
	s := mustHaveLoop(ctx)
	s.mustBeInside("Async")
	mustNotBeNil(fn == nil)
	a := &async[T]{fn: fn}
	a.future.loop, a.future.task, a.future.result.Promised = s.loop, &a.task, true
	a.task.site = stacks.Above(markerAt)
	a.start(s.owner(), ctx)
	return &a.future
}

// An async is a task with the Future of its result, in one allocation.
type async[T any] struct {
	future Future[T]
	task   Task
	extra  taskExtra
	fn     func(ctx context.Context) (T, error)
	value  T // what fn has returned
}

// start starts the task.
func (a *async[T]) start(owner *Scope, ctx context.Context) {
	f, t := &a.future, &a.task
	a.extra.entry, a.extra.body, t.extra = reflect.ValueOf(a.fn).Pointer(), a, &a.extra
	f.loop.newTask(t, owner, ctx, nil)
	if f.task == nil {
		f.come(t)
	}
	f.loop.start(t)
}

// come records t as the task of f, and cancels t if f was cancelled before.
func (f *Future[T]) come(t *Task) {
	f.result.Lock.Lock()
	f.task = t
	f.result.Lock.Unlock()
	if f.rest != nil && f.rest.cancel != nil {
		f.rest.cancel()
	}
}

// run calls the function. It is the task's.
func (a *async[T]) run(ctx context.Context) (err error) {
	a.value, err = a.fn(ctx)
	return err
}

// complete makes what fn has returned the result.
func (a *async[T]) complete(err error) {
	a.fn = nil
	if a.future.result.Set(a.value, err) {
		a.future.wakeAll()
	}
}

// Cancel cancels the task that computes the result, as Task.Cancel does. A task that Submit has
// not started yet is cancelled too, and fails at its first wait. A Future of NewFuture has no
// task, and fails with cause. A nil cause stands for context.Canceled. A result that the Future
// has already stays. Any goroutine may call it; it never suspends.
func (f *Future[T]) Cancel(cause error) {
	task := f.Task()
	switch {
	case task != nil:
		task.Cancel(cause)
	case !f.result.Promised:
		f.Fail(cmp.Or(cause, context.Canceled))
	default:
		f.loop.do(func() {
			cancel := func() { f.task.Cancel(cause) }
			if f.task != nil {
				cancel()
			} else if x := f.ensureRest(); x.cancel == nil {
				x.cancel = cancel
			}
		})
	}
}

// mustBeMade panics for a zero Future, which belongs to no loop.
func (f *Future[T]) mustBeMade() {
	if f.loop == nil {
		panic("rondo: " + stacks.CalledAs() + " of a zero Future; make it with NewFuture, Async or Submit")
	}
}

// Set makes v the result and returns true, or returns false if there is a result already. Any
// goroutine may call it; it never suspends.
func (f *Future[T]) Set(v T) bool { return f.settle(v, nil) }

// Fail makes err the result and returns true, or returns false if there is a result already.
// Any goroutine may call it; it never suspends.
func (f *Future[T]) Fail(err error) bool {
	if err == nil {
		panic("rondo: Future.Fail with a nil error")
	}
	var zero T
	return f.settle(zero, err)
}

func (f *Future[T]) settle(v T, err error) bool {
	f.mustBeMade()
	first := f.result.Set(v, err)
	switch {
	case !first:
	case f.loop.inside():
		f.wakeAll()
	default:
		_ = f.loop.post(f.wakeAll)
	}
	return first
}

// wakeAll makes ready, on the loop, what waits for the result.
func (f *Future[T]) wakeAll() {
	waited := f.result.Awaited()
	if list := f.waiters; list != nil {
		f.waiters = nil
		waited = f.loop.release(list) || waited
	}
	if waited && f.task != nil {
		f.task.observe() // so the error need not be kept for OnError meanwhile
	}
	if x := f.rest; x != nil {
		f.loop.expose(-int(x.exposed))
		x.exposed = 0
		f.loop.readyAll(x.calls.Take())
	}
}

// Wait waits for the result and returns it. If ctx is cancelled first it returns the cause, and
// the Future is not affected. Any goroutine may call it: one that runs no task simply blocks,
// until the loop's end at the latest. A task of another loop needs a ctx of its own loop, and
// is suspended.
func (f *Future[T]) Wait(ctx context.Context) (T, error) {
	var zero T
	f.mustBeMade()
	s, t, err := f.loop.enterFrom(ctx)
	if err != nil {
		return zero, err
	}
	if t == nil {
		return f.waitOutside(ctx)
	}
	if !f.Done() {
		why := f.expectWait()
		if !f.result.Promised {
			defer f.loop.expose(-1)
		}
		f.waiters.push(t)
		if err := t.park(s, ctx, why); err != nil {
			return zero, err
		}
	} else if !t.worker.affords(f.loop, 1) { // written out: pays is not inlined into generic functions
		t.settle()
	}
	return f.Result()
}

// WaitCase is Wait as a case of a Select. The value is what Result returns when the
// case is taken. The Future may be of another loop.
func (f *Future[T]) WaitCase() Case {
	f.mustBeMade()
	if !f.loop.inside() {
		result := func() error { _, err := f.Result(); return err }
		return Case{On: &acrossCase{across: across{awaited: f, call: "Select", theirs: f.loop}, done: f.Done, result: result}}
	}
	return Case{On: (*futureCase[T])(f)}
}

type futureCase[T any] Future[T]

func (c *futureCase[T]) Try(ctx context.Context, _ any) (bool, error) {
	f := (*Future[T])(c)
	switch {
	case scopeOf(ctx).loop != f.loop:
		return true, misuse(errOtherLoop)
	case !f.Done():
		return false, nil
	}
	_, err := f.Result()
	return true, err
}

func (c *futureCase[T]) Begin(context.Context) (*WaitList, Reason) {
	why := (*Future[T])(c).expectWait()
	return c.waiters, why
}

func (c *futureCase[T]) End(_ any, woken bool) error {
	f := (*Future[T])(c)
	if !f.result.Promised {
		f.loop.expose(-1)
	}
	if !woken {
		return nil
	}
	_, err := f.Result()
	return err
}

// expectWait notes that a task of the loop is about to wait.
func (f *Future[T]) expectWait() Reason {
	if f.waiters == nil {
		f.waiters = f.loop.newWaitList()
	}
	own := f.task
	if !f.result.Promised {
		f.loop.expose(1)
	}
	if own == nil {
		return Reason{What: "future"}
	}
	if own == f.loop.current {
		panic("rondo: " + stacks.CalledAs() + " in the Future's own task, which would never end: return the result, or wait in another task")
	}
	f.waiters.Owner = own
	return Reason{What: "future", On: own.id}
}

// waitOutside is Wait of a goroutine, or of a task of another loop.
func (f *Future[T]) waitOutside(ctx context.Context) (v T, err error) {
	if f.Done() {
		return f.Result()
	}
	if mine := callersLoop(); mine != nil {
		if err := f.loop.waitAcross(ctx, mine, "Future.Wait", f); err != nil {
			return v, err
		}
		return f.Result()
	}
	defer func() {
		if f.result.Leave() { // also if ctx was cancelled meanwhile: the error counts as observed
			v, err = f.Result()
		}
	}()
	select {
	case <-f.result.Await():
	case <-ctx.Done():
		err = causeOf(ctx)
	case <-f.loop.inbox.Ended():
		err = wrap("Future.Wait", ErrLoopClosed)
	}
	return v, err
}

func (f *Future[T]) whenDone(fn func()) (stop func() bool) { return f.onDone(f.loop.direct(fn)) }

// resolved has no error: a Future's own is not one of the wait.
func (f *Future[T]) resolved() (done bool, err error) { return f.Done(), nil }

func (f *Future[T]) observe() {
	if f.task != nil {
		f.task.observe()
	}
}

// Done reports whether there is a result. Any goroutine may call it.
func (f *Future[T]) Done() bool { return f.result.Done() }

// Result returns the result, or ErrNotDone. Any goroutine may call it.
func (f *Future[T]) Result() (T, error) {
	if !f.Done() {
		var zero T
		return zero, ErrNotDone
	}
	v, err := f.result.Get()
	if err != nil {
		if t := f.Task(); t != nil {
			f.loop.do(t.observe)
		}
	}
	return v, err
}

// OnDone runs fn as a callback of the loop when there is a result. If there is one already, fn
// runs too, but never inside OnDone or Set. stop keeps it from running and reports whether it
// was in time. Both may be called only on the loop. While a callback waits for a Future that
// any goroutine may set, the loop is never reported as deadlocked, unless it is simulated.
func (f *Future[T]) OnDone(fn func()) (stop func() bool) {
	f.mustBeMade()
	f.loop.mustBeInside("Future.OnDone")
	return f.onDone(f.loop.handle(fn))
}

func (f *Future[T]) onDone(h *Handle) (stop func() bool) {
	// What others have set wakes those that wait in a later turn. This comes after them.
	if f.Done() && f.waiters == nil && (f.rest == nil || f.rest.calls.Empty()) {
		f.loop.queue.Add(entry{call: h})
		return h.Cancel
	}
	x := f.ensureRest()
	x.calls.Add(h)
	if !f.result.Promised {
		x.exposed++
		f.loop.expose(1)
	}
	return func() bool {
		if !h.Cancel() {
			return false
		}
		if x.exposed > 0 {
			x.exposed--
			f.loop.expose(-1)
		}
		return x.calls.stopped()
	}
}

// Task returns the task that computes the result. It returns nil for a Future of NewFuture, and
// for one of Submit until the loop has started the task. Any goroutine may call it. To cancel
// the task, call Cancel of the Future itself.
func (f *Future[T]) Task() *Task {
	f.result.Lock.Lock()
	defer f.result.Lock.Unlock()
	return f.task
}

// Submit starts fn in a task of the loop's root scope, from any goroutine, and returns a Future
// of its result. It never suspends. If the loop has ended the Future has failed with
// ErrLoopClosed. If it ends before fn does, fn's ctx is cancelled as every task's is.
func Submit[T any](l *Loop, fn func(ctx context.Context) (T, error)) *Future[T] {
	mustNotBeNil(fn == nil)
	a := &async[T]{fn: fn}
	a.future.loop, a.future.result.Promised = l, true
	if err := l.Post(func() { a.start(&l.root, &l.root) }); err != nil {
		a.future.Fail(wrap("Submit", ErrLoopClosed))
	}
	return &a.future
}
