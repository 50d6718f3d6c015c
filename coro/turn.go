package coro

// This file is the serialisation of resume and cancel: who may run a coroutine.
//
// The law: a coroutine is run by at most one goroutine at a time, and whoever
// waits for it gets it in the order of asking. Taking it when it is free and
// giving it back when nobody waits is one atomic operation each; the lock is
// there for those who wait.

import (
	"sync"
	"sync/atomic"
)

// The states of a turn. Which of two words a running coroutine deserves, its
// own Status finds out when it is asked.
const (
	suspended uint32 = iota
	running
	dead
)

// A turn is the right to run one coroutine. It is free while the coroutine is
// suspended, and gone for good when the coroutine is dead. The zero turn is
// free.
//
// A goroutine that takes the turn gives it back with leave; only the end of
// the coroutine gives it back with end, from the coroutine's own goroutine.
type turn struct {
	state   atomic.Uint32
	waiting atomic.Int32 // how many hold a ticket that has not come up

	mu     sync.Mutex
	woken  sync.Cond
	issued uint64 // tickets given out
	served uint64 // tickets that have come up
}

// try takes the turn if it is free.
func (t *turn) try() bool { return t.state.CompareAndSwap(suspended, running) }

// wait takes the turn when it comes up. It tells whether it did: false means
// that the coroutine has ended.
func (t *turn) wait() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	// Being counted comes before the last try, as leave frees the turn before
	// it looks at the count: so one of the two sees the other.
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

// leave gives the turn back: to whoever has waited longest, or to nobody.
func (t *turn) leave() {
	t.state.Store(suspended)
	if t.waiting.Load() > 0 {
		t.hand()
	}
}

// hand takes the free turn on behalf of whoever has waited longest. If somebody
// else was quicker, that one hands it on in turn.
func (t *turn) hand() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.served < t.issued && t.try() {
		t.served++
		t.waiting.Add(-1)
		t.woken.Signal()
	}
}

// end makes the turn gone: all who wait, and all who come, are told so.
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
