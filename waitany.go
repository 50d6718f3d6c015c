package rondo

// This file waits for the first of several tasks or futures that ends.
//
// The law: the wait has succeeded when the first of them ends, not when a callback
// could run. So a cancellation that comes after that takes nothing away.

import (
	"context"
	"errors"
	"iter"
)

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
			panic("rondo: WaitAny of the task itself")
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

// AsCompleted ranges over the futures in the order in which they are done, each
// once, and suspends the task until the next one is. Those that are done when
// the range begins come first, in the order of the arguments. The range ends
// after the last one, or when ctx is cancelled, which the caller sees from ctx;
// it may be left at any time, and the futures go on. They must be of ctx's loop.
// AsCompleted panics if one of them is nil, and the range if ctx belongs to no
// loop.
//
//go:noinline
func AsCompleted[T any](ctx context.Context, fs ...*Future[T]) iter.Seq[*Future[T]] {
	for _, f := range fs {
		if f == nil {
			panic("rondo: AsCompleted with a nil Future")
		}
	}
	return func(yield func(*Future[T]) bool) {
		if err := Check(ctx); err != nil {
			mustNotBeMisuse(err)
			return
		}
		var done []*Future[T]
		var list WaitList
		known := make(map[*Future[T]]bool, len(fs))
		for _, f := range fs {
			if known[f] {
				continue
			}
			known[f] = true
			if f.Done() {
				done = append(done, f)
				continue
			}
			defer f.onDone(f.loop.direct(func() {
				done = append(done, f)
				list.Wake()
			}))()
		}
		for range len(known) {
			if len(done) > 0 {
				if Check(ctx) != nil {
					return
				}
			} else if list.Park(ctx, Reason{What: "futures"}) != nil {
				return
			}
			f := done[0]
			done = done[1:]
			if !yield(f) {
				return
			}
		}
	}
}
