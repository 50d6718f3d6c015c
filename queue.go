package rondo

import (
	"context"
	"iter"
)

// A Queue hands values from tasks to tasks, first in, first out. Put waits while
// it is full, Get while it is empty. Close ends it in order: what is in it is
// still handed out.
//
// Any number of tasks may put and get; those that wait are served in the order
// in which they came. A value is never lost: if a Get that was promised one is
// cancelled at the same moment, it returns the value. A Queue is for the tasks
// of one loop.
type Queue[T any] struct {
	ring   []T // its length is a power of two, or 0
	head   int
	n      int
	max    int // 0: no limit
	closed bool
	open   int // values taken in, and not reported by TaskDone
	// Getters wait only while every value is promised, and putters only while
	// there is no room that is not reserved. So whoever finds a value or room
	// overtakes nobody.
	getters WaitList
	putters WaitList
	joiners WaitList
	// What was done for those who were woken and have not come back: values that
	// are theirs, and room that is theirs.
	promised int
	reserved int
}

// NewQueue makes a Queue that holds at most max values; 0 means any number. It
// panics if max is negative.
func NewQueue[T any](max int) *Queue[T] {
	if max < 0 {
		panic("rondo: NewQueue with a negative max")
	}
	return &Queue[T]{max: max}
}

// Put adds v at the end. It waits while the queue is full. It returns
// ErrQueueClosed if the queue is or gets closed, and the cause if ctx is
// cancelled first; v was not added then.
func (q *Queue[T]) Put(ctx context.Context, v T) error {
	if q.closed {
		return ErrQueueClosed
	}
	if q.full() {
		if err := q.putters.Park(ctx, Reason{What: "put"}); err != nil {
			return err
		}
		if q.reserved > 0 {
			q.reserved--
		}
		if q.closed {
			return ErrQueueClosed
		}
	} else if err := Check(ctx); err != nil {
		return err
	}
	q.push(v)
	return nil
}

// TryPut adds v if there is room, and reports whether there was. It never
// suspends. It is false if the queue is closed.
func (q *Queue[T]) TryPut(v T) bool {
	if q.closed || q.full() {
		return false
	}
	q.push(v)
	return true
}

// Get takes the value at the head. It waits while the queue is empty. It returns
// ErrQueueClosed if the queue is closed and empty, and the cause if ctx is
// cancelled first; no value was taken then.
func (q *Queue[T]) Get(ctx context.Context) (T, error) {
	var zero T
	if q.n == q.promised {
		if q.closed {
			return zero, ErrQueueClosed
		}
		if err := q.getters.Park(ctx, Reason{What: "get"}); err != nil {
			return zero, err
		}
		if q.promised == 0 {
			return zero, ErrQueueClosed
		}
		q.promised--
	} else if err := Check(ctx); err != nil {
		return zero, err
	}
	return q.pop(), nil
}

// TryGet takes the value at the head if there is one, and reports whether there
// was. It never suspends.
func (q *Queue[T]) TryGet() (T, bool) {
	if q.n == q.promised {
		var zero T
		return zero, false
	}
	return q.pop(), true
}

// Len counts the values that can be got without waiting.
func (q *Queue[T]) Len() int { return q.n - q.promised }

// All ranges over the values, waiting for each, until the queue is closed and
// empty or ctx is cancelled.
func (q *Queue[T]) All(ctx context.Context) iter.Seq[T] {
	return func(yield func(T) bool) {
		for {
			v, err := q.Get(ctx)
			if err != nil || !yield(v) {
				return
			}
		}
	}
}

// Close ends the queue: every Put fails from now on, those that wait included;
// Get hands out what is left and then fails. Closing it again does nothing. It
// never suspends.
func (q *Queue[T]) Close() {
	q.closed = true
	q.putters.WakeAll()
	q.getters.WakeAll()
}

// Abort is Close, and drops what is left. Join does not wait for what was
// dropped. It never suspends.
func (q *Queue[T]) Abort() {
	q.Close()
	dropped := q.n - q.promised
	for range dropped {
		q.drop()
	}
	q.done(dropped)
}

// TaskDone says that the work on one value that was got is finished. It never
// suspends. It panics if it is called more often than there were values.
func (q *Queue[T]) TaskDone() {
	if q.open == 0 {
		panic("rondo: TaskDone called more often than values were put in the Queue")
	}
	q.done(1)
}

func (q *Queue[T]) done(n int) {
	q.open -= n
	if q.open == 0 {
		q.joiners.WakeAll()
	}
}

// Join waits until TaskDone was called for every value that was put. It returns
// the cause if ctx is cancelled first.
func (q *Queue[T]) Join(ctx context.Context) error {
	for q.open > 0 {
		if err := q.joiners.Park(ctx, Reason{What: "join"}); err != nil {
			return err
		}
	}
	return Check(ctx)
}

func (q *Queue[T]) full() bool { return q.max > 0 && q.n+q.reserved >= q.max }

// push adds v, and promises a value to the getter that has waited longest.
func (q *Queue[T]) push(v T) {
	if q.n == len(q.ring) {
		ring := make([]T, max(8, 2*len(q.ring)))
		n := copy(ring, q.ring[q.head:])
		copy(ring[n:], q.ring[:q.head])
		q.ring, q.head = ring, 0
	}
	q.ring[(q.head+q.n)&(len(q.ring)-1)] = v
	q.n++
	q.open++
	if q.getters.Wake() {
		q.promised++
	}
}

// pop takes the head, and reserves the room for the putter that has waited
// longest.
func (q *Queue[T]) pop() T {
	v := q.ring[q.head]
	q.drop()
	if !q.closed && q.putters.Wake() {
		q.reserved++
	}
	return v
}

func (q *Queue[T]) drop() {
	var zero T
	q.ring[q.head] = zero
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
}
