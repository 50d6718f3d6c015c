package rondo

// This file is the way out and back: Offload runs a function on a goroutine,
// where it may block or compute as long as it likes, while the loop goes on.

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"

	"github.com/rondo-go/rondo/internal/receiver"
	"github.com/rondo-go/rondo/internal/stacks"
)

// threads is how many functions may be offloaded at once if the Runner does not
// say: enough for blocking calls, which take no processor.
const threads = 256

// offloads are the functions of a loop that run elsewhere.
type offloads struct {
	running   int
	room      WaitList       // tasks that wait for their turn
	abandoned []*offloadCall // those for which nobody waits
}

// Offload runs fn on a goroutine of its own and suspends the task until it has
// ended; it returns what fn does. A panic in fn comes out of Offload; a Goexit
// ends fn, and Offload returns an error. At most Runner.Threads functions run at
// once; the others wait their turn, in order.
//
// fn is not on the loop: it must not touch what tasks share, and it gets a ctx in which
// the scope's values, deadline and cancellation are seen, but with which nothing can be
// awaited. If ctx is cancelled, Offload returns the cause at once. An fn that still waits
// for its turn then never runs. One that runs is abandoned: no goroutine can be stopped,
// so it runs on, and its result is dropped, for which reason it should heed its ctx. A
// panic of it goes to the Runner's OnError. What is still running when the loop has ended
// goes there too, as ErrLeftBehind; in a simulation that is no error.
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
	var result T
	abandoned, err := offloaded(ctx, user, func() (fault *PanicError, err error) {
		defer func() {
			if v := recover(); v != nil {
				fault = panicError(nil, "an offloaded function", v)
			}
		}()
		result, err = fn(ctx)
		return nil, err
	})
	if abandoned {
		// fn may still write to result.
		var zero T
		return zero, err
	}
	return result, err
}

// An offloadCall is one function that runs elsewhere. Only its loop touches it, but
// for fault and err, which the goroutine sets before it posts the call back.
type offloadCall struct {
	list   WaitList
	user   uintptr // the user's function
	nobody bool    // no task waits for it
	fault  *PanicError
	err    error
}

// errGone is the error of an offloaded function that called Goexit.
var errGone = errors.New("rondo: the offloaded function called runtime.Goexit")

// offloaded runs fn on a goroutine, for a task that waits for it. It reports whether
// it was abandoned, with the cause as err.
func offloaded(ctx context.Context, user uintptr, fn func() (fault *PanicError, err error)) (abandoned bool, err error) {
	s, t, err := enter(ctx)
	if err != nil {
		return false, err
	}
	l := s.loop
	o := &l.offloads
	if o.running >= l.runner.Threads {
		o.room.push(t)
		if err := t.park(s, ctx, Reason{What: "offload"}); err != nil {
			return false, err
		}
		// The place of the one that ended has been handed on; a cancellation that
		// came after that comes in time too.
		if err := Check(ctx); err != nil {
			o.leave()
			return false, err
		}
	} else {
		o.running++
	}
	c := &offloadCall{user: user}
	l.addWaker(1)
	l.helpers++
	c.err = errGone // which a Goexit in fn leaves
	l.goOffload(user, func() { c.fault, c.err = fn() }, func() {
		if l.postFor(t.id, func() { l.returned(c) }) != nil && c.fault != nil {
			slog.Error("rondo: an abandoned function panicked after the loop's end", "loop", l.name, "err", c.fault)
		}
	})
	c.list.push(t)
	if err := t.park(s, ctx, Reason{What: "offload"}); err != nil {
		c.nobody = true
		o.abandoned = append(o.abandoned, c)
		return true, err
	}
	if c.fault != nil {
		panic(c.fault)
	}
	return false, c.err
}

// returned takes back a call whose function has ended.
func (l *Loop) returned(c *offloadCall) {
	o := &l.offloads
	o.leave()
	l.addWaker(-1)
	l.helpers--
	if !c.nobody {
		c.list.Wake()
		return
	}
	o.abandoned = slices.DeleteFunc(o.abandoned, func(other *offloadCall) bool { return other == c })
	if c.fault != nil {
		l.notice(c.info(l), c.fault)
	}
}

// leave gives the place of a function that has ended to the task that has waited
// longest for one.
func (o *offloads) leave() {
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
// From a channel that is ready Receive takes what there is at once. Otherwise it starts a
// goroutine, which ends with the wait. If ctx is cancelled first it returns the cause,
// and no value was taken from the channel. Whether it was first, the goroutine knows: if
// it has received a value by the time it sees the cancellation, Receive returns that
// value and no error, and the next wait fails. To ask it, Receive holds the loop for the
// moment that the goroutine takes to answer. So no value is ever lost.
//
// While tasks of a loop wait in Receive it is not in deadlock: the channel is the
// outside. In a simulation the clock stands still meanwhile, as for Offload. A
// nil channel is never ready, and nothing outside can change that.
func Receive[T any](ctx context.Context, ch <-chan T) (value T, ok bool, err error) {
	s, t, err := enter(ctx)
	if err != nil {
		return value, false, err
	}
	select {
	case value, ok = <-ch:
		// A channel that always has something must not keep the loop to itself.
		(*taskDoor)(t).Spend(0)
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
	r := receiver.New(ch)
	l.addWaker(1)
	l.helpers++
	// In whatever way the wait ends, the goroutine has the last word. If it has
	// received, the cancellation has ended nothing.
	x.satisfied = func() (received bool) {
		value, ok, received = r.Stop()
		return received
	}
	defer func() {
		if x.satisfied() {
			err = nil
		}
		x.satisfied = nil
		l.helpers--
		l.addWaker(-1)
	}()
	// The answer comes after the call is handed in, so that it is known to the loop
	// when the task goes on: a simulation is to see it at the same moment each time.
	goFunc(func() {
		r.Run(func() { _ = l.postFor(t.id, func() { list.Wake() }) })
	})
	list.push(t)
	err = t.park(s, ctx, Reason{What: "channel"})
	return value, ok, err
}
