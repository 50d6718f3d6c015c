package coro

// Turns serialise resume and cancel: they decide who may run a coroutine.
//
// The law: at most one goroutine at a time runs a coroutine, and those that wait
// get it in the order in which they asked. Taking a free turn and giving it back
// when nobody waits is one atomic operation each; the lock is only for those that
// wait.

import (
	"sync"
	"sync/atomic"
)

// The states of a turn. Status distinguishes a coroutine that runs from one that
// waits for another.
const (
	suspended uint32 = iota
	running
	dead
)

// A turn is the right to run one coroutine. It is free while the coroutine is
// suspended, and nobody can take it when the coroutine is dead. The zero turn is
// free.
//
// A goroutine that takes the turn releases it with leave. The end of the coroutine
// releases it with end, from the coroutine's own goroutine.
type turn struct {
	state   atomic.Uint32
	waiting atomic.Int32 // how many hold a ticket that is not served

	mu     sync.Mutex
	woken  sync.Cond
	issued uint64 // tickets issued so far
	served uint64 // tickets served so far
}

// try takes the turn if it is free.
func (t *turn) try() bool { return t.state.CompareAndSwap(suspended, running) }

// wait waits for the turn and takes it. It reports whether it did: false means that
// the coroutine has ended.
func (t *turn) wait() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	// The count comes before the last try, and leave frees the turn before it reads
	// the count. So one of the two sees the other.
	t.waiting.Add(1)
	if t.try() {
		t.waiting.Add(-1)
		return true
	}
	if t.woken.L == nil {
		t.woken.L = &t.mu
	}
	ticket := t.issued
	t.issued++
	for ticket >= t.served {
		if t.state.Load() == dead {
			t.waiting.Add(-1)
			return false
		}
		t.woken.Wait()
	}
	return true
}

// leave releases the turn. If goroutines wait for it, the one that has waited
// longest gets it.
func (t *turn) leave() {
	t.state.Store(suspended)
	if t.waiting.Load() > 0 {
		t.hand()
	}
}

// hand takes the free turn on behalf of the goroutine that has waited longest. If
// another goroutine was quicker, that one calls hand when it leaves.
func (t *turn) hand() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.served < t.issued && t.try() {
		t.served++
		t.waiting.Add(-1)
		t.woken.Signal()
	}
}

// end closes the turn: try fails from here on, and wait returns false.
func (t *turn) end() {
	t.state.Store(dead)
	if t.waiting.Load() > 0 {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.woken.L != nil {
			t.woken.Broadcast()
		}
	}
}
