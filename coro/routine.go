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
	"errors"
	"fmt"
	"iter"
	"sync"
)

type unit = struct{}

// A routine is a coroutine without its types. It is suspended, which until it
// has begun means that it has no goroutine, and from then on that some goroutine
// is in yield and has the floor; or somebody has the turn, and is waiting for it
// unless it is about to begin or about to be left; or it is dead.
type routine struct {
	turn
	floor sync.Mutex

	self   performer // the coroutine that this is a part of
	number uintptr   // what its goroutine is known by; see caller.go
	next   func() (unit, bool)
	pause  func(unit) bool // the yield of the instance

	silent   bool  // it is being cancelled, or dead: nobody may yield
	canceled error // what yield panics with when it is being cancelled
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

// errDead says that there is nothing to run any more.
var errDead = errors.New("coro: dead coroutine")

// enter takes the turn. It returns errDead if the coroutine has ended, and
// ErrRunning, in words that name the call, if the caller is inside it and would
// wait for ever.
func (r *routine) enter(call string) error {
	if r.try() {
		return nil
	}
	return r.contend(call)
}

func (r *routine) contend(call string) error {
	if r.state.Load() == dead {
		return errDead
	}
	switch r.caller() {
	case itself:
		return fmt.Errorf("%w: %s was called by the coroutine itself", ErrRunning, call)
	case below:
		return fmt.Errorf("%w: %s was called from inside a coroutine that it has resumed and waits for", ErrRunning, call)
	}
	if !r.wait() {
		return errDead
	}
	return nil
}

// misused panics with the error of a call that has no error to return. That the
// coroutine is dead is none.
func misused(err error) {
	if err != errDead {
		panic(err)
	}
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
	if r.question != nil {
		r.reply()
	}
}

// reply answers questions until the coroutine pauses or ends; see ask.
func (r *routine) reply() {
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
