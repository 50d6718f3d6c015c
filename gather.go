package rondo

// Three functions run several others at once and wait for all of them: Gather wants every
// result, Race the first, and Settle whatever comes. Each is a Group, so when it returns,
// nothing that it started is running.

import (
	"context"
	"errors"

	"github.com/rondo-go/rondo/internal/errtree"
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

// A Result is the value and the error that a function has returned.
type Result[T any] struct {
	Value T
	Err   error
}

// Settle runs the functions in a task each, and returns what each has returned, in the order of
// the arguments, when all have ended. It cancels nothing: what fails has no effect on the
// others. If ctx is cancelled, all functions are, and those that end because of that have the
// cause as their error. If ctx is cancelled before the call, no function runs, and each has the
// cause as its error.
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

// Race runs the functions in a task each, and returns the result of the first that succeeds,
// when the others have been cancelled and have ended. The errors and results that these return
// are dropped. A function whose result must be closed calls Check before it returns the result,
// and closes the result if Check fails. No other task runs between Check and the return.
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

// onlyCause reports whether err is the cause of ctx's cancellation and nothing else. A panic is a
// fault of its own, whatever its value is.
func onlyCause(ctx context.Context, err error) bool {
	if ctx.Err() == nil {
		return false
	}
	switch err.(type) {
	case *PanicError:
		return false
	case interface{ Unwrap() []error }:
		return errtree.Identical(err, context.Cause(ctx))
	}
	return errtree.Is(err, context.Cause(ctx))
}

// mustRun panics if one of the functions is nil.
func mustRun[T any](call string, fns []func(ctx context.Context) (T, error)) {
	for _, fn := range fns {
		if fn == nil {
			panic("rondo: " + call + " with a nil function")
		}
	}
}

// contained calls fn. If the Runner has Recover set, it returns a panic of fn as an error,
// without failing the scope of the task. It panics with the same value again in a task of a new
// scope, so that the panic is treated like that of any task.
func contained[T any](ctx context.Context, fn func(ctx context.Context) (T, error)) (value T, err error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		t := Current(ctx)
		fault := panicError(t, t.Name(), v)
		err = Shield(ctx, func(ctx context.Context) error {
			Go(ctx, func(context.Context) error { panic(fault) })
			return nil
		})
	}()
	return fn(ctx)
}
