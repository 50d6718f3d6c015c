package loop

import (
	"context"
	"slices"
)

// A Future is a place for a value that is still to come, or for the error that
// comes instead. It is set once, and each task that waits for it goes on then.
type Future[T any] struct {
	loop    *Loop
	waiting []*Task // in the order in which they came
	done    bool
	value   T
	err     error
}

// NewFuture makes an empty future.
func NewFuture[T any](l *Loop) *Future[T] { return &Future[T]{loop: l} }

// Wait suspends the task until there is a result, and gives it. If the task is
// cancelled meanwhile the error is the cause.
func (f *Future[T]) Wait() (T, error) {
	if !f.done {
		t := f.loop.running()
		f.waiting = append(f.waiting, t)
		t.leave = func() { f.waiting = slices.DeleteFunc(f.waiting, func(other *Task) bool { return other == t }) }
		if err := f.loop.park(); err != nil {
			var none T
			return none, err
		}
	}
	return f.value, f.err
}

// Set makes v the result. A future that has one panics.
func (f *Future[T]) Set(v T) { f.finish(v, nil) }

// Fail makes err come out of every Wait.
func (f *Future[T]) Fail(err error) {
	var none T
	f.finish(none, err)
}

// Cancel is Fail with context.Canceled, for a value that nobody will make. It
// does nothing to a future that has a result.
func (f *Future[T]) Cancel() {
	if !f.done {
		f.Fail(context.Canceled)
	}
}

// Done reports whether there is a result.
func (f *Future[T]) Done() bool { return f.done }

func (f *Future[T]) finish(v T, err error) {
	if f.done {
		panic("loop: a second result for a Future")
	}
	f.done, f.value, f.err = true, v, err
	for _, t := range f.waiting {
		t.leave = nil
		f.loop.ready(t)
	}
	f.waiting = nil
}
