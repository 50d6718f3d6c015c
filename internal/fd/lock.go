package fd

// This file has a lock that tasks and goroutines share.

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
)

// A Lock lets one caller at a time through, in the order in which they came.
// Tasks of its loop are suspended, other goroutines blocked. Whoever gives it
// away while others wait hands it to the first of them, so that nobody comes in
// between. Begin makes it ready for use.
type Lock struct {
	loop  kernel.Loop
	state atomic.Int32
	mu    sync.Mutex // guards the rest; held for a few instructions
	queue []*claim
}

// The states of a Lock. It is contended if there is, or was, somebody in the
// queue.
const (
	free int32 = iota
	held
	contended
)

// A claim is one caller that waits for a Lock.
type claim struct {
	granted bool // guarded by Lock.mu
	list    rondo.WaitList
	signal  chan struct{} // nil for a task
}

// Begin makes the lock one of the tasks of loop.
func (l *Lock) Begin(loop kernel.Loop) { l.loop = loop }

// Try takes the lock if nobody has it, and tells whether it did. It never waits.
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
	l.loop.Hold(1)
	err := c.list.Park(t.Scope(), rondo.Reason{What: "turn"})
	l.loop.Hold(-1)
	if err == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.granted {
		// It was handed over by a goroutine, and word of it is on its way.
		return nil
	}
	l.queue = slices.DeleteFunc(l.queue, func(other *claim) bool { return other == c })
	return err
}

// claim puts the caller into the queue, or takes the lock and returns nil if it
// is free by then.
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
	}
	l.queue = append(l.queue, c)
	return c
}

// Release gives the lock to the first of the queue, or frees it.
func (l *Lock) Release() {
	if l.state.CompareAndSwap(held, free) {
		return
	}
	l.mu.Lock()
	if len(l.queue) == 0 {
		l.state.Store(free)
		l.mu.Unlock()
		return
	}
	c := l.queue[0]
	l.queue = slices.Delete(l.queue, 0, 1)
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
