package rondo

// This file is the way out and back: Offload runs a function on a goroutine,
// where it may block or compute as long as it likes, while the loop goes on.

import (
	"context"
	"fmt"
	"runtime/debug"
)

// offloads is how many functions may be offloaded at once if the Runner does
// not say: enough for blocking calls, which take no processor.
const offloads = 256

// offload counts what is out.
type offload struct {
	running int
	room    WaitList // tasks that wait for their turn
}

// Offload runs fn on a goroutine of its own and suspends the task until it has
// ended; it returns what fn does. A panic in fn comes out of Offload. At most
// Runner.Threads functions run at once; the others wait their turn.
//
// fn is not on the loop: it must not touch what tasks share, and it gets a ctx
// in which the scope's values, deadline and cancellation are seen, but with
// which nothing can be awaited. If ctx is cancelled, Offload returns the cause
// at once. fn is then abandoned: it runs on, and its result is dropped, so it
// should heed its ctx.
func Offload[T any](ctx context.Context, fn func(ctx context.Context) (T, error)) (T, error) {
	var result T
	err := offloaded(ctx, func() (fault any, err error) {
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
	list  WaitList
	fault any
	err   error
}

func offloaded(ctx context.Context, fn func() (fault any, err error)) error {
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
		// The place of the one that ended has been handed on.
	} else {
		o.running++
	}
	trip := new(trip)
	l.hold(1)
	beside(func() {
		// A Goexit in fn runs this as well: the trip comes back without a result.
		trip.err = errGoexit
		defer func() { _ = l.post(entry{call: &Handle{loop: l, fn: func() { l.returned(trip) }}}) }()
		trip.fault, trip.err = fn()
	})
	trip.list.push(t)
	if err := t.park(s, ctx, Reason{What: "offload"}); err != nil {
		return &abandoned{err}
	}
	if trip.fault != nil {
		panic(trip.fault)
	}
	return trip.err
}

// returned takes back a trip whose function has ended.
func (l *Loop) returned(trip *trip) {
	o := &l.offload
	if !o.room.Wake() {
		o.running--
	}
	l.hold(-1)
	trip.list.Wake()
}
