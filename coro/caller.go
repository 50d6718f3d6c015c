package coro

// The caller is looked up where waiting must be told from a deadlock: a goroutine
// wants to run a coroutine that runs already. A goroutine outside waits for its turn.
// The coroutine itself, or one that it has resumed and waits for, would wait for ever.
//
// Nothing is recorded when a coroutine is resumed, because the answer is rarely
// needed. A table has the goroutine of each coroutine, and a caller looks up its own
// number there.
//
// Who resumed a coroutine is not recorded either. It is asked: the coroutine
// pauses, and the goroutine that waits for it runs for a moment. That goroutine
// looks itself up in the same way, asks its own resumer if it has one, and resumes
// the coroutine with the answer. No code of the user runs in between.
//
// A coroutine of another kind in between is not seen: a bare iter.Pull, or a
// goroutine that the coroutine waits for. Such a circle hangs, as it does with a
// mutex.

import (
	"sync"

	"github.com/rondo-go/rondo/internal/gid"
)

// A place is where a caller is, relative to a coroutine.
type place int

const (
	elsewhere place = iota // it is not inside the coroutine
	itself                 // it is the coroutine
	below                  // it is inside a coroutine that this one waits for
)

// caller returns where the calling goroutine is, relative to r.
func (r *routine) caller() place {
	switch me := current(); {
	case me == nil:
		return elsewhere
	case me == r:
		return itself
	case me.ask(r):
		return below
	}
	return elsewhere
}

// ask reports whether the goroutine that waits for r is inside the coroutine
// target, or is it. The caller is r's goroutine.
func (r *routine) ask(target *routine) bool {
	if !r.floor.TryLock() {
		// Another goroutine has the floor of r, and so has paused it: nobody waits
		// for r while this goroutine runs.
		return false
	}
	defer r.floor.Unlock()
	r.question = target
	r.pause(unit{})
	return r.answer
}

// current returns the coroutine that the calling goroutine runs, or nil.
func current() *routine { return lookUp(gid.ID()) }

// goroutines has the coroutines that have a goroutine, by its number: those that
// have begun and are not dead. It is in parts, so that goroutines that make
// coroutines at the same time seldom wait for each other.
var goroutines [64]struct {
	mu   sync.Mutex
	list map[uint64]*routine
	_    [48]byte // a cache line each
}

func register(id uint64, r *routine) {
	part := &goroutines[id%uint64(len(goroutines))]
	part.mu.Lock()
	if part.list == nil {
		part.list = make(map[uint64]*routine)
	}
	part.list[id] = r
	part.mu.Unlock()
}

func unregister(id uint64) {
	part := &goroutines[id%uint64(len(goroutines))]
	part.mu.Lock()
	delete(part.list, id)
	part.mu.Unlock()
}

func lookUp(id uint64) *routine {
	part := &goroutines[id%uint64(len(goroutines))]
	part.mu.Lock()
	defer part.mu.Unlock()
	return part.list[id]
}
