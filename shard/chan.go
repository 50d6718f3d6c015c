package shard

// A Chan carries values between the tasks of different shards.
//
// The law: a value is in one place: with its sender, in the buffer, or with its
// receiver. All that moves it is under the lock mu, which is held for a few
// instructions only. A task that waits is in one of the two lists until another one
// takes it off, with its value; it learns that by a message to its loop. One whose
// wait is cancelled looks under the lock which of the two came first.

import (
	"context"
	"iter"
	"sync"
	"unsafe"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/list"
	"github.com/rondo-go/rondo/internal/stacks"
)

// ErrClosed is the error of a Send to a Chan that is closed, and of a Recv from one
// that is closed and empty.
var ErrClosed = kernel.Closed("rondo: the Chan is closed")

// A Chan hands values from tasks to tasks, of the same loop or of different ones, in the order
// in which they were sent. It holds a limited number of values. Send waits while it is full,
// Recv while it is empty. Close ends it gracefully: Recv still returns the values that are
// left.
//
// Any number of tasks may send and receive; those that wait are served in the order
// in which they came. No value is lost: a Recv that has one when it is cancelled
// returns it.
//
// What is sent belongs to the receiver: a pointer must not be used by the sender
// any more. Within one loop a rondo.Queue is cheaper and can do more.
type Chan[T any] struct {
	// Name identifies the Chan in rondo tree and in reports. Set it before the Chan is used.
	Name string

	mu        sync.Mutex
	held      []T // a ring
	first, n  int
	closed    bool
	receivers list.List[waiter[T]] // only while nothing is held
	senders   list.List[waiter[T]] // only while held is full
}

// NewChan makes a Chan that holds at most n values. It panics if n is not positive.
func NewChan[T any](n int) *Chan[T] {
	if n <= 0 {
		panic("rondo: shard.NewChan with a size that is not positive: use 1 or more")
	}
	return &Chan[T]{held: make([]T, n)}
}

// A waiter is a task that waits. value is what it sends, or has received. ended, left
// and closed are guarded by the Chan's mu, and so is value until ended is true.
type waiter[T any] struct {
	links  list.Links[waiter[T]]
	of     *Chan[T]
	queue  *list.List[waiter[T]] // the one of the two that it is in
	value  T
	ended  bool // it is off the list
	left   bool // because its wait has ended without a value
	closed bool // by Close
	list   rondo.WaitList
	loop   kernel.Loop
	shard  *Shard // nil if the loop is none
}

func waiterLinks[T any]() uintptr { return unsafe.Offsetof(waiter[T]{}.links) }

var (
	sending   = rondo.Reason{What: "chan send"}
	receiving = rondo.Reason{What: "chan receive"}
)

// Send sends v. It waits while the Chan is full, which suspends the task. It returns
// ErrClosed if the Chan is or gets closed, and the cause if ctx is cancelled first;
// v was not sent then.
func (c *Chan[T]) Send(ctx context.Context, v T) error {
	if err := rondo.Checkpoint(ctx); err != nil {
		return err
	}
	c.lock()
	var w *waiter[T]
	if c.n == len(c.held) {
		w = c.waiter(ctx)
	}
	switch first := c.receivers.First(); {
	case c.closed:
		c.mu.Unlock()
		return ErrClosed
	case first != nil:
		first.value = v
		first.end()
		c.mu.Unlock()
		first.wake()
	case c.n < len(c.held):
		c.put(v)
		c.mu.Unlock()
	default:
		w.join(&c.senders)
		w.value = v
		c.mu.Unlock()
		if err := w.wait(ctx, sending); err != nil {
			return err
		}
		if w.closed {
			return ErrClosed
		}
	}
	return nil
}

// TrySend sends v if that needs no wait, and reports whether it did. It returns false if the
// Chan is closed. Any goroutine may call it; it never suspends.
func (c *Chan[T]) TrySend(v T) bool {
	c.lock()
	w := c.receivers.First()
	switch {
	case c.closed || w == nil && c.n == len(c.held):
		c.mu.Unlock()
		return false
	case w != nil:
		w.value = v
		w.end()
	default:
		c.put(v)
	}
	c.mu.Unlock()
	if w != nil {
		w.wake()
	}
	return true
}

// Recv receives the next value. It waits while the Chan is empty, which suspends the
// task. It returns ErrClosed if the Chan is closed and empty, and the cause if ctx is
// cancelled first; no value was taken then.
func (c *Chan[T]) Recv(ctx context.Context) (T, error) {
	var zero T
	if err := rondo.Checkpoint(ctx); err != nil {
		return zero, err
	}
	c.lock()
	var w *waiter[T]
	if c.n == 0 && !c.closed {
		w = c.waiter(ctx)
	}
	switch {
	case c.n > 0:
		v := c.take()
		first := c.senders.First()
		if first != nil {
			c.put(first.value)
			first.end()
		}
		c.mu.Unlock()
		if first != nil {
			first.wake()
		}
		return v, nil
	case c.closed:
		c.mu.Unlock()
		return zero, ErrClosed
	}
	w.join(&c.receivers)
	c.mu.Unlock()
	if err := w.wait(ctx, receiving); err != nil {
		return zero, err
	}
	if w.closed {
		return zero, ErrClosed
	}
	return w.value, nil
}

// All ranges over the values, waiting for each, until the Chan is closed and empty or
// ctx is cancelled. The range panics if ctx belongs to no loop.
func (c *Chan[T]) All(ctx context.Context) iter.Seq[T] {
	return func(yield func(T) bool) {
		for {
			v, err := c.Recv(ctx)
			if err != nil {
				if rondo.Current(ctx) == nil {
					panic(err.Error())
				}
				return
			}
			if !yield(v) {
				return
			}
		}
	}
}

// Close ends the Chan: every Send fails from now on, including those that wait; Recv returns
// the values that are left and then fails. Closing it again does nothing. Any goroutine may
// call it; it never suspends.
func (c *Chan[T]) Close() {
	c.lock()
	c.closed = true
	var waiting []*waiter[T]
	for _, l := range []*list.List[waiter[T]]{&c.receivers, &c.senders} {
		for w := l.First(); w != nil; w = l.First() {
			w.closed = true
			w.end()
			waiting = append(waiting, w)
		}
	}
	c.mu.Unlock()
	for _, w := range waiting {
		w.wake()
	}
}

// Len returns how many values are held. Any goroutine may call it; it never suspends.
func (c *Chan[T]) Len() int {
	c.lock()
	defer c.mu.Unlock()
	return c.n
}

// lock locks mu.
func (c *Chan[T]) lock() {
	if c.held == nil {
		panic("rondo: " + stacks.CalledAs() + " of a zero Chan: make it with NewChan")
	}
	step()
	c.mu.Lock()
}

// put adds v at the end. The caller holds mu, and there is room.
func (c *Chan[T]) put(v T) {
	at := c.first + c.n
	if at >= len(c.held) {
		at -= len(c.held)
	}
	c.held[at] = v
	c.n++
}

// take takes the first value. The caller holds mu, and there is one.
func (c *Chan[T]) take() T {
	var zero T
	v := c.held[c.first]
	c.held[c.first] = zero
	if c.first++; c.first == len(c.held) {
		c.first = 0
	}
	c.n--
	return v
}

// waiter returns a waiter for the calling task. The caller holds mu. waiter unlocks it meanwhile,
// because methods of ctx may panic, or use the Chan.
func (c *Chan[T]) waiter(ctx context.Context) *waiter[T] {
	c.mu.Unlock()
	w := &waiter[T]{of: c, loop: kernel.Of(ctx), shard: Of(ctx)}
	w.list.Of = &c.Name
	c.mu.Lock()
	return w
}

// join puts w at the end of a list. The caller holds mu.
func (w *waiter[T]) join(queue *list.List[waiter[T]]) {
	w.queue = queue
	queue.Add(w, waiterLinks[T]())
}

// end takes w off its list. The caller holds mu.
func (w *waiter[T]) end() {
	w.queue.Remove(w, waiterLinks[T]())
	w.ended = true
}

// settled is called when the wait has failed, by its cancellation or before it began.
// It reports whether w was served before that, and otherwise takes it off its list.
func (w *waiter[T]) settled() bool {
	w.of.lock()
	defer w.of.mu.Unlock()
	if !w.ended {
		w.end()
		w.left = true
	}
	return !w.left
}

// wait waits until w is served, or ctx is cancelled first. A wait that panics or never
// begins leaves nothing behind either: a context of the standard library may be
// cancelled at any moment.
func (w *waiter[T]) wait(ctx context.Context, why rondo.Reason) (err error) {
	task := w.loop.Task()
	w.loop.AddWakers(1)
	task.SetSatisfied(w.settled)
	returned := false
	defer func() {
		task.SetSatisfied(nil)
		w.loop.AddWakers(-1)
		if (err != nil || !returned) && w.settled() {
			err = nil
		}
	}()
	err = w.list.Park(ctx, why)
	returned = true
	return err
}

// wake tells the loop of w that w was served.
func (w *waiter[T]) wake() {
	if w.shard != nil {
		_ = w.shard.box.put(w, false)
		return
	}
	_ = w.loop.Post(func() { w.list.Wake() })
}

func (w *waiter[T]) deliver(*Shard) { w.list.Wake() }
func (w *waiter[T]) refused(*Shard) {}
