package rondo

// This file is the way out and back: Offload runs a function on a goroutine,
// where it may block or compute as long as it likes, while the loop goes on.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
)

// offloads is how many functions may be offloaded at once if the Runner does
// not say: enough for blocking calls, which take no processor.
const offloads = 256

// offload counts what is out.
type offload struct {
	running   int
	room      WaitList // tasks that wait for their turn
	abandoned []*trip  // those of what is out for which nobody waits
}

// Offload runs fn on a goroutine of its own and suspends the task until it has
// ended; it returns what fn does. A panic in fn comes out of Offload; a Goexit
// ends fn, and Offload returns an error. At most Runner.Threads functions run at
// once; the others wait their turn, in order.
//
// fn is not on the loop: it must not touch what tasks share, and it gets a ctx
// in which the scope's values, deadline and cancellation are seen, but with
// which nothing can be awaited. If ctx is cancelled, Offload returns the cause
// at once. An fn that still waits for its turn then never runs. One that runs is
// abandoned: no goroutine can be stopped, so it runs on, and its result is
// dropped, for which reason it should heed its ctx. A panic of it goes to the
// Runner's OnError. What is still running when the loop has ended goes there
// too, as ErrLeftBehind; in a simulation that is no error.
func Offload[T any](ctx context.Context, fn func(ctx context.Context) (T, error)) (T, error) {
	if fn == nil {
		panic("rondo: Offload with a nil function")
	}
	var result T
	err := offloaded(ctx, reflect.ValueOf(fn).Pointer(), func() (fault any, err error) {
		defer func() {
			if v := recover(); v != nil {
				fault = v
				if _, ok := v.(*PanicError); !ok {
					fault = &PanicError{Task: "an offloaded function", Value: v, Stack: debug.Stack()}
				}
			}
		}()
		result, err = fn(ctx)
		return nil, err
	})
	if a, ok := err.(*abandoned); ok {
		// fn may still write to result.
		var zero T
		return zero, a.cause
	}
	return result, err
}

// abandoned marks the error of an Offload whose function runs on.
type abandoned struct{ cause error }

func (a *abandoned) Error() string { return fmt.Sprint("abandoned: ", a.cause) }

// trip is one Offload on its way out and back. Only its loop touches it, save
// for fault and err, which the goroutine sets before it is posted back.
type trip struct {
	list   WaitList
	user   uintptr // the user's function
	nobody bool    // no task waits for it
	fault  any
	err    error
}

// errGone is the error of an offloaded function that called Goexit.
var errGone = errors.New("rondo: the offloaded function called runtime.Goexit")

func offloaded(ctx context.Context, user uintptr, fn func() (fault any, err error)) error {
	s, t, err := enter(ctx, "Offload")
	if err != nil {
		return err
	}
	l := s.loop
	o := &l.offload
	if o.running >= l.runner.Threads {
		o.room.push(t)
		if err := t.park(s, ctx, Reason{What: "offload"}); err != nil {
			return err
		}
		// The place of the one that ended has been handed on; a cancellation that
		// came after that comes in time too.
		if err := Check(ctx); err != nil {
			o.leave()
			return err
		}
	} else {
		o.running++
	}
	trip := &trip{user: user}
	l.hold(1)
	beside(func() {
		// A Goexit in fn runs this as well: the trip comes back without a result.
		trip.err = errGone
		defer func() {
			if l.post(entry{call: &Handle{loop: l, fn: func() { l.returned(trip) }}}) != nil && trip.fault != nil {
				slog.Error("rondo: an abandoned function panicked after the loop's end", "loop", l.name, "err", trip.fault)
			}
		}()
		trip.fault, trip.err = fn()
	})
	trip.list.push(t)
	if err := t.park(s, ctx, Reason{What: "offload"}); err != nil {
		trip.nobody = true
		o.abandoned = append(o.abandoned, trip)
		return &abandoned{err}
	}
	if trip.fault != nil {
		panic(trip.fault)
	}
	return trip.err
}

// returned takes back a trip whose function has ended.
func (l *Loop) returned(back *trip) {
	o := &l.offload
	o.leave()
	l.hold(-1)
	if !back.nobody {
		back.list.Wake()
		return
	}
	o.abandoned = slices.DeleteFunc(o.abandoned, func(t *trip) bool { return t == back })
	if p, ok := back.fault.(*PanicError); ok {
		l.notice(back.info(l), p)
	}
}

// leave gives the place of a function that has ended to the task that has waited
// longest for one.
func (o *offload) leave() {
	if !o.room.Wake() {
		o.running--
	}
}

// info describes a function that was abandoned.
func (t *trip) info(l *Loop) TaskInfo {
	return TaskInfo{Name: "an offloaded function", Loop: l.name, Func: functionName(t.user), State: "abandoned"}
}

// reportAbandoned tells, when all tasks have ended, of the functions that still
// run, once for those that are the same one. All of them were abandoned: for the
// others tasks have waited. Those that heed their ctx get a moment to end.
func (l *Loop) reportAbandoned() {
	for range 100 {
		if len(l.offload.abandoned) == 0 || l.door.pending() {
			return
		}
		runtime.Gosched()
	}
	left := l.offload.abandoned
	l.offload.abandoned = nil
	if l.virtual {
		return
	}
	for len(left) > 0 {
		first, n := left[0], len(left)
		left = slices.DeleteFunc(left, func(t *trip) bool { return t.user == first.user })
		about := first.info(l)
		l.notice(about, fmt.Errorf("rondo: Offload of %s was abandoned, %d times: %w", about.Func, n-len(left), ErrLeftBehind))
	}
}
