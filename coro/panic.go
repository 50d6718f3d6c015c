package coro

// A coroutine ends in one of four ways: its function returns, panics, is cancelled,
// or calls runtime.Goexit.
//
// The law: the same thing happens in the goroutine that waits for the coroutine. A
// panic continues there with the same value, and a Goexit as a Goexit. The panic
// with which cancel unwinds the function stops here. By then the coroutine is dead,
// all its deferred calls have run, and its goroutine ends before the one that waits
// for it continues.

import (
	"runtime/debug"

	"github.com/rondo-go/rondo/internal/gid"
)

// finish is the last deferred call on the coroutine's goroutine.
func (r *routine) finish() {
	v := recover()
	own := v != nil && v == any(r.canceled)
	if v != nil && !own {
		// iter.Pull passes the value on, but not the stack.
		r.stack = debug.Stack()
		if gid.PanicPasses != nil {
			gid.PanicPasses(v, r.stack)
		}
	}
	if !r.returned {
		r.floor.Lock() // perform has taken it otherwise
	}
	r.panicked, r.value = v != nil && !own, v
	r.closed = true
	forced := r.forced
	unregister(r.goroutine)
	r.end()
	r.floor.Unlock()
	switch {
	case v != nil && !own:
		panic(v)
	case forced:
		// iter.Pull would pass the Goexit on to the caller of cancel. This panic
		// takes its place: cancel recognises and stops it.
		panic(r.canceled)
	}
}
