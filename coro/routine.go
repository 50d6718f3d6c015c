package coro

// A routine is the part of a coroutine that does not depend on its types. It switches, and
// uses iter.Pull, as no other file does.
//
// The law: a coroutine is one call of iter.Pull, and no values pass through it. Its
// next runs the coroutine, its yield pauses it, and values are handed over in
// fields. Its stop is never called, because after stop yield returns at once and
// can neither pause nor hand anything over. To cancel a coroutine, run it with an
// error in its fields with which its pending yield panics.
//
// Two rights order the callers. The turn is the right to run the coroutine: a
// goroutine has it while it is in resume or cancel. The floor is the right to act
// as the coroutine: a goroutine has it while it is in yield, from the call to the
// return, and the end of the function takes it for good. So the fields below have
// one owner at any time: the holder of the turn while the coroutine is paused, and
// the holder of the floor while it runs.

import (
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/rondo-go/rondo/internal/gid"
)

type unit = struct{}

// A routine is a coroutine without its types. It is in one of three states.
//
//   - Suspended. Before it has begun it has no goroutine. After that a goroutine
//     is in yield and has the floor.
//   - Running. A goroutine has the turn, and waits for the coroutine unless it is
//     just about to begin it or to give the turn back.
//   - Dead.
type routine struct {
	turn
	floor sync.Mutex

	self      performer // the coroutine that this is a part of
	goroutine uint64    // its number; see caller.go
	next      func() (unit, bool)
	pause     func(unit) bool // the yield of iter.Pull

	closed   bool  // it is being cancelled, or dead: nobody may yield
	canceled error // what yield panics with when it is being cancelled
	refused  int   // how many yields have panicked with it
	forced   bool  // Goexit has been called, because panics did not end it

	question *routine // see ask
	answer   bool

	returned bool   // the function returned
	panicked bool   // the function panicked, and not with canceled
	value    any    // what it panicked with
	stack    []byte // where
}

// A performer is a coroutine with its types.
type performer interface {
	// perform runs the function, takes the floor, and stores its result.
	perform()
}

// errDead says that the coroutine has ended.
var errDead = errors.New("coro: dead coroutine")

// enter takes the turn. It returns errDead if the coroutine has ended. If the
// caller is inside the coroutine and would wait for ever, it returns an error that
// is ErrRunning and names the call.
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

// misused panics with the error of a call that returns no error. errDead is not
// misuse.
func misused(err error) {
	if err != errDead {
		panic(err)
	}
}

// begun reports whether the function has been started. The caller has the turn.
func (r *routine) begun() bool { return r.next != nil }

// step runs the coroutine until it pauses or ends. It begins it if necessary. The
// caller has the turn. If the function panics or calls Goexit, so does step. The
// coroutine is dead by then, so there is nothing to undo.
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
		target := r.question
		r.question = nil
		r.answer = target.caller() != elsewhere
		r.next()
	}
}

// begin makes the goroutine, as late as possible: a coroutine that is never resumed
// has none, and is garbage when it is dropped.
func (r *routine) begin() {
	if r.self == nil {
		r.leave()
		panic("coro: use of a Coroutine or Generator that was not made by Make, New or NewGenerator")
	}
	r.next, _ = iter.Pull(r.run)
}

func (r *routine) run(pause func(unit) bool) {
	r.pause, r.goroutine = pause, gid.ID()
	register(r.goroutine, r)
	defer r.finish()
	r.self.perform()
	r.returned = true
}
