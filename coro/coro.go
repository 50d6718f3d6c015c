package coro

// This file is the package without handles: coroutines and iterators as pairs
// of functions.

import "errors"

var (
	// ErrCanceled is what a pending yield panics with when its coroutine is
	// cancelled. The panic's value is an error that wraps it.
	ErrCanceled = errors.New("coro: coroutine canceled")

	// ErrRunning says that a coroutine or generator was to be run from inside
	// itself, or from inside one that it waits for.
	ErrRunning = errors.New("coro: already running")
)

// New makes a paused coroutine that will run f, and gives the two functions
// that run it. They are the methods Resume and Cancel of Make's Coroutine, and
// all that is said there holds.
//
//   - Resume(in) runs the coroutine. The first one calls f(in, yield); each
//     further one makes the pending yield return in. Resume waits until f
//     yields, and returns what f yielded and true, or until f returns, and
//     returns what f returned and false. From then on it returns zero and
//     false. If f panics, Resume panics with the same value.
//   - Cancel ends the coroutine. If it has not begun, f is never called.
//     Otherwise the pending yield panics with an error that is ErrCanceled,
//     and Cancel returns when f has ended. It panics if f panics with anything
//     but that error.
//
// Calls of either from several goroutines take turns. A call from inside the
// coroutine panics with an error that is ErrRunning.
//
// A coroutine that was resumed must be run to its end or cancelled, or its
// goroutine stays for ever.
func New[In, Out any](f func(in In, yield func(Out) In) Out) (resume func(In) (Out, bool), cancel func()) {
	c := Make(f)
	return c.Resume, c.Cancel
}

// Pull turns an iterator that pushes its values into one from which they are
// pulled: each call of pull gives the next value and true, and zero and false
// when there are no more. A function of type iter.Seq[V] is such an iterator.
//
// Stop ends the iteration early: the pending yield returns false, as does every
// later one, and stop returns when push has returned. Unlike the cancel of New
// it does not panic in push. It must be called unless pull has returned false;
// calling it again, or at the end, does nothing. If it is called before the
// first pull, push is never called.
//
// It differs from iter.Pull in this: pull and stop may be called by several
// goroutines, which take turns, and a call from inside push panics with an
// error that is ErrRunning. If push panics or calls runtime.Goexit, so does the
// call of pull or stop that waits for it.
func Pull[V any](push func(yield func(V) bool)) (pull func() (V, bool), stop func()) {
	if push == nil {
		panic("coro: Pull of a nil iterator")
	}
	c := Make(func(more bool, yield func(V) bool) (none V) {
		if more {
			push(yield)
		}
		return none
	})
	pull = func() (V, bool) {
		v, ok, _ := c.exchange(true, &byPull)
		return v, ok
	}
	stop = func() {
		if err := c.enter("stop"); err != nil {
			misused(err)
			return
		}
		if !c.begun() {
			c.end()
			return
		}
		// A push that yields again although it was told to stop is told again.
		for alive := true; alive; {
			_, alive = c.run(false)
		}
	}
	return pull, stop
}
