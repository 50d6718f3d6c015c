package coro

// This file is the end of a coroutine, whichever of its four ends it is: the
// function returns, panics, is cancelled, or calls runtime.Goexit.
//
// The law: what the function did, the goroutine that waits for it is told. A
// panic goes on there with the same value, a Goexit goes on as a Goexit; the
// panic with which cancel unwinds the function stops here. By then the
// coroutine is dead, no deferred call is left to run, and its goroutine ends
// before the one that waits goes on.

import "runtime/debug"

// finish is the last deferred call on the coroutine's goroutine.
func (r *routine) finish() {
	v := recover()
	own := v != nil && v == any(r.canceled)
	if v != nil && !own {
		// iter.Pull carries the value over, but not where it came from.
		r.stack = debug.Stack()
	}
	if !r.returned {
		r.floor.Lock() // perform has taken it otherwise
	}
	r.panicked, r.value = v != nil && !own, v
	r.silent = true
	expelled := r.expelled
	strike(r.number)
	r.end()
	r.floor.Unlock()
	switch {
	case v != nil && !own:
		panic(v)
	case expelled:
		// iter.Pull would pass the Goexit on to the caller of cancel. It passes
		// a panic on instead, which cancel knows and stops.
		panic(r.canceled)
	}
}
