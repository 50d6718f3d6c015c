package coro

// Cancellation unwinds, by a panic, a function that is paused in yield.
//
// The law: once a coroutine is being cancelled no yield pauses it. So the run that
// cancel starts is its last, whether or not the function recovers the panic.

import "runtime"

// cancel ends the coroutine and returns when it is dead. The caller has the
// turn.
func (r *routine) cancel() {
	if !r.begun() {
		r.end()
		return
	}
	// The floor belongs to the pending yield, which looks at these next.
	r.closed, r.canceled = true, &cancellation{}
	defer func() {
		if r.forced && !r.panicked {
			recover() // the panic that takes the place of the Goexit; see finish
		}
	}()
	r.step()
}

// refuseAtOnce makes a yield panic that was called when nobody may yield. The
// caller has the floor; refuseAtOnce releases it.
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

// maxRefused is how many yields panic in a coroutine that is being cancelled before
// the next one calls Goexit.
const maxRefused = 100

// refuse releases the floor and makes a yield panic because the coroutine is being
// cancelled. A function that recovers the panic may return, and if it yields again
// it panics again. A function that does so for ever is ended by Goexit, which runs
// the deferred calls and cannot be recovered. So cancel always returns, unless the
// function never returns and never yields.
func (r *routine) refuse() {
	r.refused++
	r.forced = r.refused > maxRefused
	forced, err := r.forced, r.canceled
	r.floor.Unlock()
	if forced {
		runtime.Goexit()
	}
	panic(err)
}

// A cancellation is what the yields of a coroutine panic with while it is being
// cancelled. It has a size, so that each has its own address, and cancel can tell
// its own panic from any other.
type cancellation struct{ _ byte }

func (*cancellation) Error() string { return ErrCanceled.Error() }
func (*cancellation) Unwrap() error { return ErrCanceled }
