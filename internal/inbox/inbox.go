// Package inbox is where other goroutines come in to a loop. They may not touch
// anything of it, so they hand something in, and the loop takes it at its next turn.
//
// The law: what was accepted is taken. The lock is held for a few instructions only,
// and never while anything of the program runs.
package inbox

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/rondo-go/rondo/internal/list"
)

// An Inbox has what came in and was not taken. Either it is open, and what was
// accepted will be taken; or it is closed, and nothing is accepted.
type Inbox[E any] struct {
	some    atomic.Bool   // there may be something in it
	exposed atomic.Bool   // see Expose
	sim     *simulated[E] // nil: the loop is real
	mu      sync.Mutex
	in      []E
	spare   []E // the other half, for reuse
	rest    []E // of spare: what is to be moved yet; touched by the loop only
	closed  bool
	refuses atomic.Bool   // see Refuse
	ended   chan struct{} // closed when the loop has ended
	enders  list.List[ender]
}

// An ender is a function that is called at the loop's end.
type ender struct {
	links list.Links[ender]
	fn    func() // nil once it was called, or forgotten
}

const enderLinks = unsafe.Offsetof(ender{}.links)

// Open makes the inbox ready. It is called once, before all else.
func (b *Inbox[E]) Open() { b.ended = make(chan struct{}) }

// Expose notes that goroutines which the loop does not know may hand something in
// from now on. Any goroutine may call it.
func (b *Inbox[E]) Expose() { b.exposed.Store(true) }

// Exposed reports whether Expose was called.
func (b *Inbox[E]) Exposed() bool { return b.exposed.Load() }

// Put hands e in. It reports whether e was accepted, and whether the loop must be
// woken for it: if so, the caller does that. own says that the loop is simulated, and the
// caller a part of the simulation. Any goroutine may call it.
func (b *Inbox[E]) Put(e E, own bool) (accepted, wake bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false, false
	}
	if own {
		b.some.Store(true)
		return true, b.sim.put(e)
	}
	b.in = append(b.in, e)
	if wake = !b.some.Load(); wake {
		b.some.Store(true) // mu is held, so nobody else changes it
	}
	return true, wake
}

// Pending reports whether there may be something to take.
// Only the loop may call it.
func (b *Inbox[E]) Pending() bool {
	return len(b.rest) > 0 || b.some.Load() && (b.sim == nil || b.sim.pending())
}

// Portion is how much of what came in should be in the loop's queue at once: what becomes ready
// behind it must not wait for all that goroutines hand in.
const Portion = 256

// Take passes what came in to add, which puts it into the loop's own queue, most at a time if the
// loop is real, and returns how much it was. Only the loop may call it.
func (b *Inbox[E]) Take(add func(E), most int) (n uint64) {
	switch {
	case !b.Pending():
		return 0
	case b.sim != nil:
		return b.takeSimulated(add)
	}
	if len(b.rest) == 0 && most > 0 {
		b.mu.Lock()
		b.some.Store(false)
		b.in, b.spare = b.spare[:0], b.in
		b.mu.Unlock()
		b.rest = b.spare
	}
	moved := b.rest[:min(most, len(b.rest))]
	for _, e := range moved {
		add(e)
	}
	clear(moved)
	if b.rest = b.rest[len(moved):]; len(b.rest) == 0 && cap(b.spare) > keep {
		b.rest, b.spare = nil, nil // after a burst the memory is given back
	}
	return uint64(len(moved))
}

// keep is for how many entries an inbox keeps its memory.
const keep = 4096

// Refuse has Refuses return true from now on. The loop is about to end: goroutines
// that hand something in without pause must not keep it from that. What works for
// the loop still comes in.
func (b *Inbox[E]) Refuse() { b.refuses.Store(true) }

// Refuses reports whether Refuse was called.
func (b *Inbox[E]) Refuses() bool { return b.refuses.Load() }

// Close closes the inbox if nothing is in it, and reports whether it did.
func (b *Inbox[E]) Close() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.in)+len(b.rest) > 0 || b.Own() {
		return false
	}
	b.closed = true
	return true
}

// Closed reports whether the inbox is closed.
func (b *Inbox[E]) Closed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// Ended returns a channel that is closed when the loop has ended.
func (b *Inbox[E]) Ended() <-chan struct{} { return b.ended }

// AtEnd calls fn when the loop has ended, at once if it has already, unless forget
// comes first. fn is called on any goroutine, and must not wait. Any goroutine may
// call AtEnd and forget.
func (b *Inbox[E]) AtEnd(fn func()) (forget func()) {
	e := &ender{fn: fn}
	b.mu.Lock()
	select {
	case <-b.ended:
		b.mu.Unlock()
		fn()
		return func() {}
	default:
	}
	b.enders.Add(e, enderLinks)
	b.mu.Unlock()
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if e.fn != nil {
			b.enders.Remove(e, enderLinks)
			e.fn = nil
		}
	}
}

// End marks the loop's end, and calls the functions that wait for it.
func (b *Inbox[E]) End() {
	var fns []func()
	b.mu.Lock()
	close(b.ended)
	for e := range b.enders.All(enderLinks) {
		b.enders.Remove(e, enderLinks)
		fns = append(fns, e.fn)
		e.fn = nil
	}
	b.mu.Unlock()
	for _, fn := range fns {
		fn() // without the lock: it may hand something in to a loop that ends at the same moment
	}
}
