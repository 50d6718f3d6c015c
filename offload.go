package rondo

// Offload runs a function on a goroutine, where it may block or compute for long while the
// loop goes on; Receive waits for a Go channel.

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"unsafe"

	"github.com/rondo-go/rondo/internal/gid"
	"github.com/rondo-go/rondo/internal/list"
	"github.com/rondo-go/rondo/internal/report"
	"github.com/rondo-go/rondo/internal/stacks"
)

// threads is the number of functions that may be offloaded at once if Runner.Threads is 0:
// enough for blocking calls, which take no processor.
const threads = 256

// offloads are the functions of a loop that run elsewhere.
type offloads struct {
	running   int
	room      WaitList               // tasks that wait for their turn
	abandoned list.List[offloadCall] // those for which nobody waits
}

// Offload runs fn on a goroutine of its own and suspends the task until it has
// ended; it returns what fn does. A panic in fn comes out of Offload; a Goexit
// ends fn, and Offload returns an error. At most Runner.Threads functions run at
// once; the others wait their turn, in order.
//
// fn does not run on the loop, so it must not touch what tasks share. Its ctx has the scope's
// values, deadline and cancellation, but Rondo's functions cannot wait with it. If ctx is
// cancelled, Offload returns the cause at once. An fn that still waits for its turn then never
// runs. An fn that is running is abandoned: a goroutine cannot be stopped, so it runs on, and
// its result is dropped. So fn should watch its ctx. A panic of it goes to the Runner's
// OnError. If fn is still running when the loop has ended, OnError is told of that too, with
// ErrLeftBehind, but not in a simulation.
func Offload[T any](ctx context.Context, fn func(ctx context.Context) (T, error)) (T, error) {
	mustNotBeNil(fn == nil)
	return offload(ctx, reflect.ValueOf(fn).Pointer(), fn)
}

// OffloadFunc is Offload for a function without a result.
func OffloadFunc(ctx context.Context, fn func(ctx context.Context) error) error {
	mustNotBeNil(fn == nil)
	_, err := offload(ctx, reflect.ValueOf(fn).Pointer(), func(ctx context.Context) (unit, error) { return unit{}, fn(ctx) })
	return err
}

func offload[T any](ctx context.Context, user uintptr, fn func(ctx context.Context) (T, error)) (T, error) {
	s, t, err := enter(ctx)
	if err == nil {
		err = s.loop.offloads.admit(s, t, ctx)
	}
	if err != nil {
		var zero T
		return zero, err
	}
	r := &resultCall[T]{ctx: ctx, fn: fn}
	if err := r.call.start(s, t, ctx, user, r); err != nil {
		var zero T // fn may still write to r.result
		return zero, err
	}
	if r.call.fault != nil {
		panic(r.call.fault)
	}
	return r.result, r.call.err
}

// A resultCall is a call with its function and the result of that.
type resultCall[T any] struct {
	call   offloadCall
	ctx    context.Context
	fn     func(ctx context.Context) (T, error)
	result T
}

// perform calls the function, on the goroutine.
func (r *resultCall[T]) perform() {
	defer func() {
		if v := recover(); v != nil {
			r.call.fault = panicError(nil, "an offloaded function", v)
		}
	}()
	r.result, r.call.err = r.fn(r.ctx)
}

// An offloadCall is one call of Offload. Only its loop touches it, except for fault, err, id
// and g, which the goroutine sets before it posts the call back.
type offloadCall struct {
	list  WaitList
	user  uintptr // the user's function
	over  bool    // the loop has taken it back
	left  bool    // it is among the abandoned ones
	links list.Links[offloadCall]
	loop  *Loop
	task  uint64 // the number of the task that waits
	work  interface{ perform() }
	fault *PanicError
	err   error

	// The goroutine's number and the runtime's record of it, once it runs, for readers from
	// outside.
	id uint64
	g  uintptr
}

const offloadLinks = unsafe.Offsetof(offloadCall{}.links)

// errGone is the error of an offloaded function that called Goexit.
var errGone = errors.New("rondo: the offloaded function called runtime.Goexit")

// admit waits until t may offload a function.
func (o *offloads) admit(s *Scope, t *Task, ctx context.Context) error {
	if o.running < s.loop.runner.Threads {
		o.running++
		return nil
	}
	o.room.push(t)
	if err := t.park(s, ctx, Reason{What: "offload"}); err != nil {
		return err
	}
	// A function that ended has handed its place to t. If ctx was cancelled after that and
	// before t ran, t hands the place on; also if a method of ctx panics.
	taken := false
	defer func() {
		if !taken {
			o.freePlace()
		}
	}()
	err := Check(ctx)
	taken = err == nil
	return err
}

// start has work done on a goroutine, and waits for the end of it for t. It returns the cause if
// ctx is cancelled first; then c is abandoned, unless the loop has taken it back. It is abandoned
// also if a method of ctx panics.
func (c *offloadCall) start(s *Scope, t *Task, ctx context.Context, user uintptr, work interface{ perform() }) error {
	l := s.loop
	c.user, c.loop, c.task, c.work = user, l, t.id, work
	c.err = errGone // which a Goexit in work leaves
	l.addWaker(1)
	l.helpers++
	if !l.offloaded(user, c) {
		l.fresh = !l.jumps() // in a bubble the world waits until goroutines rest
		goFunc(c.run)
	}
	c.list.push(t)
	defer func() {
		if !c.over {
			l.offloads.abandoned.Add(c, offloadLinks)
			c.left = true
		}
	}()
	return t.park(s, ctx, Reason{What: "offload"})
}

// run does the work on the goroutine, and posts the call back.
func (c *offloadCall) run() {
	defer c.post()
	c.perform()
}

// perform does the work on the goroutine.
func (c *offloadCall) perform() {
	c.id, c.g = gid.ID(), gid.Record()
	c.work.perform()
}

// post hands the call back to the loop.
func (c *offloadCall) post() {
	if c.loop.postFor(c.task, c.returned) != nil && c.fault != nil {
		report.Log(slog.LevelError, "rondo: an abandoned function panicked after the loop's end", "loop", c.loop.name, "err", c.fault)
	}
}

// returned takes back a call whose function has ended.
func (c *offloadCall) returned() {
	l := c.loop
	o := &l.offloads
	o.freePlace()
	l.addWaker(-1)
	l.helpers--
	// A task that was cancelled earlier in this turn waits no longer, and has not run since.
	if c.over = true; c.list.Wake() {
		return
	}
	if c.left {
		o.abandoned.Remove(c, offloadLinks)
	}
	if c.fault != nil {
		l.notice(c.info(l), c.fault)
	}
}

// freePlace gives the place of a function that has ended to the task that has waited
// longest for one.
func (o *offloads) freePlace() {
	if !o.room.Wake() {
		o.running--
	}
}

// info describes a function that was abandoned.
func (c *offloadCall) info(l *Loop) TaskInfo {
	return TaskInfo{Name: "an offloaded function", Loop: l.name, Func: stacks.FuncName(c.user), State: "abandoned"}
}

// Receive receives one value from a Go channel, as v, ok := <-ch does, and
// suspends the task until there is one or the channel is closed; ok is false
// then. Goroutines may send to the channel, and close it.
//
// If the channel is ready, Receive receives from it directly. Otherwise it starts a goroutine,
// which ends with the wait. If ctx is cancelled first it returns the cause, and no value was
// taken from the channel. No value is ever lost: if the goroutine has received a value by the
// time it sees the cancellation, Receive returns that value and no error, and the next wait
// fails. To learn that, Receive holds the loop for the moment that the goroutine takes to
// answer.
//
// A loop with a task in Receive is never reported as deadlocked, because goroutines can send to
// the channel. In a simulation the clock stands still meanwhile, as for Offload. A nil channel
// is never ready, so a task that waits for one does count as stuck.
func Receive[T any](ctx context.Context, ch <-chan T) (value T, ok bool, err error) {
	s, t, err := checkpoint(ctx, 1)
	if err != nil {
		return value, false, err
	}
	select {
	case value, ok = <-ch:
		return value, ok, nil
	default:
	}
	if ch == nil {
		return value, false, t.park(s, ctx, Reason{What: "channel"})
	}
	return receive(ctx, s, t, ch)
}

// receive is Receive from a channel that is not ready.
func receive[T any](ctx context.Context, s *Scope, t *Task, ch <-chan T) (value T, ok bool, err error) {
	var list WaitList
	l, x := s.loop, t.ensureRest()
	r := newReceiver(ch)
	l.addWaker(1)
	l.helpers++
	// In whatever way the wait ends, the goroutine has the last word. If it has
	// received, the cancellation has ended nothing, and park returns no error.
	x.satisfied = func() (received bool) {
		value, ok, received = r.end()
		return received
	}
	defer func() {
		x.satisfied()
		x.satisfied = nil
		l.helpers--
		l.addWaker(-1)
	}()
	// The goroutine posts the wake-up before it answers end. So the loop has the wake-up when
	// the task goes on, and a simulation sees it at the same moment in each run.
	goFunc(func() {
		r.run(func() { _ = l.postFor(t.id, func() { list.Wake() }) })
	})
	list.push(t)
	err = t.park(s, ctx, Reason{What: "channel"})
	return // satisfied sets value and ok
}

// A receiver receives one value from a Go channel for a task, on a goroutine of its own.
//
// The law: no value is lost. The goroutine alone decides whether the channel or the end of
// the wait came first: the task gets what the goroutine has received.
type receiver[T any] struct {
	ch     <-chan T
	stop   chan struct{} // closed when the task has stopped waiting
	answer chan bool     // whether there was a value, or the end of the channel
	value  T
	ok     bool

	over     bool // end was called
	received bool // the answer of run
}

func newReceiver[T any](ch <-chan T) *receiver[T] {
	return &receiver[T]{ch: ch, stop: make(chan struct{}), answer: make(chan bool, 1)}
}

// run waits for the channel until end is called. If it has received, it calls received before
// end can return. It is called once.
func (r *receiver[T]) run(received func()) {
	got := r.receive()
	if got {
		received()
	}
	r.answer <- got
}

// receive reports whether the channel was ready before the task stopped waiting. A
// select takes any case that is ready, so the channel is asked once more: a value that
// was sent before the cancellation is received in any case.
func (r *receiver[T]) receive() bool {
	select {
	case r.value, r.ok = <-r.ch:
		return true
	case <-r.stop:
	}
	select {
	case r.value, r.ok = <-r.ch:
		return true
	default:
		return false
	}
}

// end ends the wait. It returns what run has received, as v, ok := <-ch does, and
// whether it has received. It blocks for the moment that run takes to answer. A
// second call returns the same.
func (r *receiver[T]) end() (value T, ok, received bool) {
	if !r.over {
		r.over = true
		close(r.stop)
		r.received = <-r.answer
	}
	return r.value, r.ok, r.received
}
