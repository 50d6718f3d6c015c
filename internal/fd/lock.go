package fd

// Tasks and goroutines share a Lock and its queue. Law: a step of the queue
// costs the same however many wait. So the cancellation of many waiters is
// linear in their number.

import (
	"sync"
	"sync/atomic"

	"github.com/rondo-go/rondo/internal/kernel"
)

// A Lock lets one caller at a time through, in the order in which they came.
// Tasks of its loop are suspended, other goroutines block. If somebody waits,
// Release hands the lock to the first of them, and nobody can take it in
// between. The zero value is ready. All calls name the same loop.
type Lock struct {
	state atomic.Int32
	queue atomic.Pointer[queue] // nil until somebody waits
}

// The states of a Lock. It is contended if somebody is, or was, in the queue.
const (
	free int32 = iota
	held
	contended
)

// A claim is one caller that waits for a Lock. queue.mu guards all but list and
// signal, which never change.
type claim struct {
	granted bool            // the caller has the lock, and is off the queue
	list    kernel.WaitList // where a task waits
	signal  chan struct{}   // what another goroutine waits for; nil for a task

	before, after *claim // in the queue
}

// Try takes the lock if it is free, and reports whether it did. It never waits.
func (l *Lock) Try() bool { return l.state.CompareAndSwap(free, held) }

// busy reports whether somebody has the lock.
func (l *Lock) busy() bool { return l.state.Load() != free }

// Take waits until the caller has the lock. t is the calling task, or nil for
// any other goroutine. It fails only if the task's scope is cancelled.
func (l *Lock) Take(loop kernel.Loop, t kernel.Task) error {
	if l.Try() {
		return nil
	}
	return l.wait(loop, t)
}

// wait is Take of a lock that is not free.
func (l *Lock) wait(loop kernel.Loop, t kernel.Task) error {
	c := l.claim(loop, t)
	if c == nil {
		return nil
	}
	if t == nil {
		<-c.signal
		return nil
	}
	loop.AddWakers(1)
	err := c.list.ParkTask(t, kernel.Reason{What: "turn"})
	loop.AddWakers(-1)
	if err == nil {
		return nil
	}
	q := l.queue.Load()
	q.mu.Lock()
	defer q.mu.Unlock()
	if c.granted {
		// The lock was handed over before the cancellation; the Post that would
		// have woken this task may still be under way.
		return nil
	}
	q.remove(c)
	return err
}

// claim puts the caller into the queue. If the lock is free by then it takes it
// and returns nil.
func (l *Lock) claim(loop kernel.Loop, t kernel.Task) *claim {
	q := l.queue.Load()
	for q == nil {
		l.queue.CompareAndSwap(nil, new(queue))
		q = l.queue.Load()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
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
		c.list = loop.WaitList()
	}
	q.add(c)
	return c
}

// Release hands the lock to the first of the queue, or frees it.
func (l *Lock) Release(loop kernel.Loop) {
	if !l.state.CompareAndSwap(held, free) {
		l.handOn(loop)
	}
}

// handOn is Release of a contended lock.
func (l *Lock) handOn(loop kernel.Loop) {
	q := l.queue.Load()
	q.mu.Lock()
	c := q.first
	if c == nil {
		l.state.Store(free)
		q.mu.Unlock()
		return
	}
	q.remove(c)
	c.granted = true
	q.mu.Unlock()
	switch {
	case c.signal != nil:
		close(c.signal)
	case loop.Inside():
		c.list.Wake()
	default:
		// A task waits, so the loop has not ended.
		_ = loop.Post(func() { c.list.Wake() })
	}
}

// A queue holds claims in the order in which they came.
type queue struct {
	mu          sync.Mutex // held for a few instructions
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
