package coro

// This file cancels: it unwinds a function that waits in yield, by a panic.
//
// The law: once a coroutine is being cancelled no yield pauses it, so that the
// one run that cancel gives it is its last, whatever the function does about the
// panic.

import "runtime"

// cancel ends the coroutine and returns when it is dead. The caller has the
// turn.
func (r *routine) cancel() {
	if !r.begun() {
		r.end()
		return
	}
	// The floor belongs to the pending yield, which looks at these next.
	r.silent, r.canceled = true, &cancellation{}
	defer func() {
		if r.expelled && !r.panicked {
			recover() // what finish put in the place of the Goexit
		}
	}()
	r.step()
}

// refuseAtOnce is for a yield that came when nobody may yield. The caller has
// the floor; it is given back.
func (r *routine) refuseAtOnce() {
	if r.state.Load() != dead {
		r.refuse()
	}
	r.floor.Unlock()
	if r.canceled != nil {
		panic(r.canceled)
	}
	panic("coro: yield called after the end of its coroutine")
}

// patience is how often cancel lets a yield panic before it gives up reasoning.
const patience = 100

// refuse gives back the floor and makes a yield panic because the coroutine is
// being cancelled. A function that recovers the panic may end in its own way,
// and one that goes on to yield gets it again; but one that does so for ever is
// ended by Goexit, which runs the deferred calls and cannot be recovered. So
// cancel ends whatever the function is like, unless it does not yield at all.
func (r *routine) refuse() {
	r.refused++
	r.expelled = r.refused > patience
	expelled, err := r.expelled, r.canceled
	r.floor.Unlock()
	if expelled {
		runtime.Goexit()
	}
	panic(err)
}

// A cancellation is what the yields of a coroutine panic with while it is being
// cancelled. It has a size, so that each has an address of its own, by which
// cancel knows its own panic from any other.
type cancellation struct{ _ byte }

func (*cancellation) Error() string { return ErrCanceled.Error() }
func (*cancellation) Unwrap() error { return ErrCanceled }
