package coro

// This file switches: it is the part of a coroutine that does not depend on
// its types, and the only one that touches iter.Pull.
//
// The law. A coroutine is one iter.Pull instance, through which no values
// pass: its next runs the coroutine, its yield pauses it, and what is handed
// over lies in fields beside it. The instance's stop is never called, because
// after it yield returns at once and could neither pause nor hand anything
// over; a coroutine is cancelled by running it with an error laid out for its
// pending yield to panic with.
//
// Two rights order those who use it. The turn is the right to run the
// coroutine; it belongs to whoever is in resume or cancel. The floor is the
// right to speak for it; it belongs to whoever is in yield, from the call to
// the return, and at last to the end of the function. So the fields below have
// one owner at any time: the holder of the turn while the coroutine is paused,
// and the holder of the floor while it runs.

import (
	"fmt"
	"iter"
	"runtime"
	"sync"
)

type unit = struct{}

type routine struct {
	turn
	floor sync.Mutex

	self   performer // the coroutine that this is a part of
	number uintptr   // what its goroutine is known by; see caller.go
	next   func() (unit, bool)
	pause  func(unit) bool // the yield of the instance

	canceled error // what yield panics with; nil until cancel
	refused  int   // how many yields have panicked with it
	expelled bool  // Goexit has been called, because panics did not help

	question *routine // see ask
	answer   bool

	returned bool   // the function returned
	panicked bool   // the function panicked, and not with canceled
	value    any    // what it panicked with
	stack    []byte // where
}

// A performer is a coroutine with its types.
type performer interface {
	// perform runs the function, takes the floor, and lays out its result.
	perform()
}

// enter takes the turn. It tells whether the coroutine lives. If it is called
// from inside the coroutine, waiting would be for ever: the error says so.
func (r *routine) enter(call string) (alive bool, err error) {
	if r.try() {
		return true, nil
	}
	return r.contend(call)
}

func (r *routine) contend(call string) (alive bool, err error) {
	if r.state.Load() == dead {
		return false, nil
	}
	switch r.caller() {
	case itself:
		return true, fmt.Errorf("%w: %s was called by the coroutine itself", ErrRunning, call)
	case below:
		return true, fmt.Errorf("%w: %s was called from inside a coroutine that it has resumed and waits for", ErrRunning, call)
	}
	return r.wait(), nil
}

// mustEnter is enter for calls that have no error to return.
func (r *routine) mustEnter(call string) bool {
	alive, err := r.enter(call)
	if err != nil {
		panic(err)
	}
	return alive
}

// begun tells whether the function has been started. The caller has the turn.
func (r *routine) begun() bool { return r.next != nil }

// step runs the coroutine until it pauses or ends; begins it if it has not
// begun. The caller has the turn. If the function panics or calls Goexit, so
// does step, and the coroutine is dead by then: there is nothing to undo.
func (r *routine) step() {
	if r.next == nil {
		r.begin()
	}
	r.next()
	for r.question != nil {
		asked := r.question
		r.question = nil
		r.answer = asked.caller() != elsewhere
		r.next()
	}
}

// begin makes the goroutine, as late as can be: a coroutine that nobody ever
// resumes has none, and is garbage when it is dropped.
func (r *routine) begin() {
	if r.self == nil {
		r.leave()
		panic("coro: use of a Coroutine or Generator that was not made by Make, New or NewGenerator")
	}
	r.number = numbers.Add(1)
	r.next, _ = iter.Pull(r.run)
}

func (r *routine) run(pause func(unit) bool) {
	r.pause = pause
	host(r.number, r)
}

// cancel ends the coroutine and returns when it is dead. The caller has the
// turn.
func (r *routine) cancel() {
	if !r.begun() {
		r.end()
		return
	}
	// A panic with this very error is known as cancel's own.
	r.canceled = fmt.Errorf("%w", ErrCanceled)
	defer func() {
		if r.expelled && !r.panicked {
			recover() // what finish put in the place of the Goexit
		}
	}()
	r.step()
}

// speak takes the floor, or panics: nobody speaks for a coroutine that has ended
// or is being cancelled.
func (r *routine) speak() {
	r.floor.Lock()
	switch {
	case r.state.Load() == dead:
		r.floor.Unlock()
		if r.canceled != nil {
			panic(r.canceled)
		}
		panic("coro: yield called after the end of its coroutine")
	case r.canceled != nil:
		r.refuse()
	}
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
