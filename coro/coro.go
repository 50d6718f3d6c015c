package coro

// New and Pull return coroutines and iterators as pairs of functions.

import "errors"

var (
	// ErrCanceled is what a pending yield panics with when its coroutine is
	// cancelled. The panic's value is an error that wraps it.
	ErrCanceled = errors.New("coro: coroutine canceled")

	// ErrRunning is the error of a call that would run a coroutine or generator
	// from inside itself, or from inside one that it waits for.
	ErrRunning = errors.New("coro: already running")
)

// New makes a paused coroutine that will run f, and returns the two functions that
// run it: the methods [Coroutine.Resume] and [Coroutine.Cancel] of the Coroutine
// that [Make] returns. Their comments say more.
//
//   - Resume(in) runs the coroutine. The first call calls f(in, yield), and each
//     further one makes the pending yield return in. Resume waits. When f yields,
//     it returns the yielded value and true. When f returns, it returns the
//     result and false. From then on it returns zero and false. If f panics,
//     Resume panics with the same value.
//   - Cancel ends the coroutine. If it has not begun, f is never called. Otherwise the pending
//     yield panics with an error that wraps ErrCanceled, and Cancel returns when f has ended.
//     If f panics with anything else, Cancel panics with the same value.
//
// Calls of either from several goroutines take turns. A call from inside the coroutine panics
// with an error that wraps ErrRunning.
//
// A coroutine that was resumed must be run to its end or cancelled. Otherwise its
// goroutine stays for ever.
func New[In, Out any](f func(in In, yield func(Out) In) Out) (resume func(In) (Out, bool), cancel func()) {
	c := Make(f)
	return c.Resume, c.Cancel
}

// Pull turns a push iterator, such as an iter.Seq[V], into a pull iterator: each
// call of pull returns the next value and true, or zero and false when there are no
// more.
//
// Stop ends the iteration early: the pending yield and all later ones return false,
// and stop returns when push has returned. Unlike the cancel of New, stop does not
// panic in push. It must be called unless pull has returned false. Calling it again,
// or after the end, does nothing. If it is called before the first pull, push is
// never called.
//
// Pull differs from iter.Pull in two ways. Several goroutines may call pull and stop, and take
// turns. A call from inside push panics with an error that wraps ErrRunning. If push panics or
// calls runtime.Goexit, so does the call of pull or stop that waits for it.
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
		// If push yields again although it was told to stop, tell it again.
		for alive := true; alive; {
			_, alive = c.run(false)
		}
	}
	return pull, stop
}
