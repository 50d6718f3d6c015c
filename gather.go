package rondo

// This file has three ways to run several functions at once and wait for all of
// them: Gather wants every result, Race the first, and Settle whatever comes. Each
// is a Group, so when it returns, nothing that it started is running.

import (
	"context"
	"errors"
	"iter"
	"runtime/debug"
)

// Gather runs the functions in a task each, and returns their results in the
// order of the arguments when all have ended. The first to fail cancels the
// rest, and Gather returns the errors as Group does, and no results.
func Gather[T any](ctx context.Context, fns ...func(ctx context.Context) (T, error)) ([]T, error) {
	mustRun("Gather", fns)
	futures := make([]*Future[T], len(fns))
	err := Group(ctx, func(g *Scope) error {
		for i, fn := range fns {
			futures[i] = Async(g, fn)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	results := make([]T, len(fns))
	for i, f := range futures {
		results[i], _ = f.Result()
	}
	return results, nil
}

// A Result is what a function has returned.
type Result[T any] struct {
	Value T
	Err   error
}

// Settle runs the functions in a task each, and returns what each has returned,
// in the order of the arguments, when all have ended. It cancels nothing: what
// fails has no effect on the others. If ctx is cancelled, so are they all, and
// those that end by that have the cause as their error; a ctx that is cancelled
// already is every function's error, and none is run.
//
// A panic ends the loop, or is the function's error, a *PanicError, if the Runner
// has Recover set. It is gather with return_exceptions of Python's asyncio.
func Settle[T any](ctx context.Context, fns ...func(ctx context.Context) (T, error)) []Result[T] {
	mustRun("Settle", fns)
	results := make([]Result[T], len(fns))
	for i := range results {
		results[i].Err = errOutstanding
	}
	err := Group(ctx, func(g *Scope) error {
		for i, fn := range fns {
			g.Go(func(ctx context.Context) error {
				value, err := contained(ctx, fn)
				results[i] = Result[T]{value, err}
				return nil
			})
		}
		return nil
	})
	for i := range results {
		if results[i].Err == errOutstanding {
			results[i].Err = err
		}
	}
	return results
}

var errOutstanding = errors.New("rondo: Settle: not run")

// Race runs the functions in a task each, and returns the result of the first
// that succeeds, when the others have been cancelled and have ended. What they
// return then is dropped, whether it is an error or one more result. A function
// whose result must be closed asks Check before it returns the result, and closes
// it if that fails. Nothing comes between the two.
//
// If all fail, Race returns their errors joined, in the order in which they came.
// If ctx is cancelled it returns the cause, unless one has succeeded. A panic
// ends the loop; if the Runner has Recover set it cancels the others and is the
// error of Race. To race no functions at all is an error.
func Race[T any](ctx context.Context, fns ...func(ctx context.Context) (T, error)) (T, error) {
	mustRun("Race", fns)
	var winner T
	if len(fns) == 0 {
		return winner, errors.New("rondo: Race without functions: none can succeed")
	}
	won := false
	// The outer Group knows which of the errors only say that ctx was cancelled.
	err := Group(ctx, func(outer *Scope) error {
		var failures []error
		err := Group(outer, func(g *Scope) error {
			for _, fn := range fns {
				g.Go(func(ctx context.Context) error {
					value, err := fn(ctx)
					if err != nil {
						failures = append(failures, err)
					} else if !won {
						winner, won = value, true
						g.Cancel(nil)
					}
					return nil
				})
			}
			return nil
		})
		switch {
		case err != nil && !onlyCause(outer, err):
			return err
		case won:
			return nil
		case len(failures) == 0:
			return err
		case len(failures) == 1:
			return failures[0]
		}
		return errors.Join(failures...)
	})
	if won && onlyCause(ctx, err) {
		err = nil
	}
	if err != nil {
		var none T
		return none, err
	}
	return winner, nil
}

// onlyCause reports whether err is the cause of ctx's cancellation and nothing else.
func onlyCause(ctx context.Context, err error) bool {
	_, more := err.(interface{ Unwrap() []error })
	return err != nil && !more && ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
}

// mustRun panics if one of the functions is nil.
func mustRun[T any](call string, fns []func(ctx context.Context) (T, error)) {
	for _, fn := range fns {
		if fn == nil {
			panic("rondo: " + call + " with a nil function")
		}
	}
}

// contained calls fn, and makes a panic in it the error that it is in a Runner
// with Recover, without failing the scope that the task is in. To have it judged
// as any panic of a task, it raises it again in a task of a scope of its own.
func contained[T any](ctx context.Context, fn func(ctx context.Context) (T, error)) (value T, err error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		fault, ok := v.(*PanicError)
		if !ok {
			fault = &PanicError{Task: Current(ctx).Name(), Value: v, Stack: debug.Stack()}
		}
		err = Shield(ctx, func(ctx context.Context) error {
			Go(ctx, func(context.Context) error { panic(fault) })
			return nil
		})
	}()
	return fn(ctx)
}

// WaitAny waits until one of the tasks has ended, and returns it; the others go
// on. Its Err returns its error. If several have ended,
// within a turn of the loop or before the call, it is the first of them in the
// order of the arguments. If ctx is cancelled first WaitAny returns the cause
// and no task. The tasks must be of ctx's loop.
//
// To wait for no task at all is an error. WaitAny panics if one of the tasks is
// nil, or the one that calls.
func WaitAny(ctx context.Context, ts ...*Task) (*Task, error) {
	if err := Check(ctx); err != nil {
		return nil, err
	}
	if len(ts) == 0 {
		return nil, errors.New("rondo: WaitAny without tasks: none can end")
	}
	me := Current(ctx)
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
	var first *Task
	var list WaitList
	why := Reason{What: "tasks"}
	if len(ts) == 1 {
		list.Owner, why = ts[0], Reason{What: "task", On: ts[0].ID()}
	}
	for _, t := range ts {
		defer t.OnDone(func() {
			if first == nil {
				first = ended(ts)
			}
			list.Wake()
		})()
	}
	if err := list.Park(ctx, why); err != nil {
		return nil, err
	}
	return first, nil
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
// AsCompleted panics if one of them is nil.
func AsCompleted[T any](ctx context.Context, fs ...*Future[T]) iter.Seq[*Future[T]] {
	for _, f := range fs {
		if f == nil {
			panic("rondo: AsCompleted with a nil Future")
		}
	}
	return func(yield func(*Future[T]) bool) {
		if Check(ctx) != nil {
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
			defer f.OnDone(func() {
				done = append(done, f)
				list.Wake()
			})()
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
