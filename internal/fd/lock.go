package fd

// This file has Lock, which tasks and goroutines share, and its queue. Law: a
// step of the queue costs the same however many wait. So the cancellation of
// many waiters is linear in their number.

import (
	"sync"
	"sync/atomic"

	"github.com/rondo-go/rondo/internal/kernel"
)

// A Lock lets one caller at a time through, in the order in which they came.
// Tasks of its loop are suspended, other goroutines block. If somebody waits,
// Release hands the lock to the first of them, and nobody can take it in
// between. Begin makes it ready for use.
type Lock struct {
	loop  kernel.Loop
	state atomic.Int32
	mu    sync.Mutex // guards the rest; held for a few instructions
	queue queue
}

// The states of a Lock. It is contended if somebody is, or was, in the queue.
const (
	free int32 = iota
	held
	contended
)

// A claim is one caller that waits for a Lock. Lock.mu guards all but list and
// signal, which never change.
type claim struct {
	granted bool            // the caller has the lock, and is off the queue
	list    kernel.WaitList // where a task waits
	signal  chan struct{}   // what another goroutine waits for; nil for a task

	before, after *claim // in the queue
}

// Begin makes the lock ready for the tasks of loop.
func (l *Lock) Begin(loop kernel.Loop) { l.loop = loop }

// Try takes the lock if it is free, and reports whether it did. It never waits.
func (l *Lock) Try() bool { return l.state.CompareAndSwap(free, held) }

// Take waits until the caller has the lock. t is the calling task, or nil for
// any other goroutine. It fails only if the task's scope is cancelled.
func (l *Lock) Take(t kernel.Task) error {
	if l.Try() {
		return nil
	}
	c := l.claim(t)
	if c == nil {
		return nil
	}
	if t == nil {
		<-c.signal
		return nil
	}
	l.loop.AddWakers(1)
	err := c.list.ParkTask(t, kernel.Reason{What: "turn"})
	l.loop.AddWakers(-1)
	if err == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.granted {
		// The lock was handed over before the cancellation; the Post that would
		// have woken this task may still be under way.
		return nil
	}
	l.queue.remove(c)
	return err
}

// claim puts the caller into the queue. If the lock is free by then it takes it
// and returns nil.
func (l *Lock) claim(t kernel.Task) *claim {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if l.state.CompareAndSwap(free, held) {
			return nil
		}
		if l.state.Load() == contended || l.state.CompareAndSwap(held, contended) {
			break
		}
	}
	c := new(claim)
	if t == nil {
		c.signal = make(chan struct{})
	} else {
		c.list = l.loop.WaitList()
	}
	l.queue.add(c)
	return c
}

// Release hands the lock to the first of the queue, or frees it.
func (l *Lock) Release() {
	if l.state.CompareAndSwap(held, free) {
		return
	}
	l.mu.Lock()
	c := l.queue.first
	if c == nil {
		l.state.Store(free)
		l.mu.Unlock()
		return
	}
	l.queue.remove(c)
	c.granted = true
	l.mu.Unlock()
	switch {
	case c.signal != nil:
		close(c.signal)
	case l.loop.Inside():
		c.list.Wake()
	default:
		// A task waits, so the loop has not ended.
		_ = l.loop.Post(func() { c.list.Wake() })
	}
}

// A queue holds claims in the order in which they came.
type queue struct {
	first, last *claim
	steps       int // how many claims add and remove have read or written; tests count them
}

func (q *queue) add(c *claim) {
	q.steps++
	c.before = q.last
	if q.last == nil {
		q.first = c
	} else {
		q.steps++
		q.last.after = c
	}
	q.last = c
}

func (q *queue) remove(c *claim) {
	q.steps++
	if c.before == nil {
		q.first = c.after
	} else {
		q.steps++
		c.before.after = c.after
	}
	if c.after == nil {
		q.last = c.before
	} else {
		q.steps++
		c.after.before = c.before
	}
	c.before, c.after = nil, nil
}
