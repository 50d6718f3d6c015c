package rondo

import (
	"context"
	"iter"

	"github.com/rondo-go/rondo/internal/heap"
	"github.com/rondo-go/rondo/internal/ring"
)

// A Queue hands values from tasks to tasks. Which value is next depends on how it was made: by
// NewQueue or NewSlidingQueue, the one that was put first; by NewStack, the one that was put
// last; by NewPriorityQueue, the least. Put waits while it is full, Get while it is empty.
// Close ends it gracefully: Get still returns the values that are left.
//
// Any number of tasks may put and get; those that wait are served in the order in which they
// came. No value is lost: a Get that was woken for a value returns one, even if it is cancelled
// at the same moment. It returns the value that is next when its task runs again, which need
// not be the one whose Put woke it. A Queue is for the tasks of one loop.
type Queue[T any] struct {
	// Name identifies the Queue in rondo tree and in reports.
	Name string

	held   buffer[T]
	limit  int    // of values; 0: none
	slides bool   // when it is full, a Put drops the value that was put first
	slid   uint64 // values that were dropped because it slides
	closed bool
	open   int // values taken in, and not reported by TaskDone
	// Getters wait only while every value is promised, and putters only while there is no
	// room that is not reserved. So a task that finds a value or room overtakes none.
	getters WaitList
	putters WaitList
	joiners WaitList
	// The numbers of values and of places that belong to tasks that were woken and have not run
	// since. A closed queue has no places.
	promised int
	reserved int
}

// NewQueue makes a first-in, first-out Queue that holds at most limit values; 0 means any
// number. It panics if limit is negative.
func NewQueue[T any](limit int) *Queue[T] {
	return newQueue("NewQueue", limit, buffer[T]{})
}

// NewSlidingQueue makes a Queue that keeps the last limit values, of which the one that was put
// first is next. When it is full, Put and TryPut drop that one and do not wait. Use it for data
// that gets out of date, such as positions or frames; Dropped counts what was lost. It panics
// if limit is not positive.
func NewSlidingQueue[T any](limit int) *Queue[T] {
	if limit <= 0 {
		panic("rondo: NewSlidingQueue with a limit that is not positive")
	}
	return &Queue[T]{limit: limit, slides: true}
}

// NewStack makes a last-in, first-out Queue that holds at most limit values; 0 means any
// number. It panics if limit is negative.
func NewStack[T any](limit int) *Queue[T] {
	return newQueue("NewStack", limit, buffer[T]{last: true})
}

// NewPriorityQueue makes a Queue that holds at most limit values, of which the
// least is next; 0 means any number. less reports whether a comes before b, and
// must be a strict weak order; of equals the one that was put first is next. It
// must not wait. If it panics, so does the call that needed it, which has put or
// taken no value. NewPriorityQueue panics if limit is negative or less is nil.
func NewPriorityQueue[T any](limit int, less func(a, b T) bool) *Queue[T] {
	if less == nil {
		panic("rondo: NewPriorityQueue with a nil less")
	}
	return newQueue("NewPriorityQueue", limit, buffer[T]{heap: heap.New(less)})
}

func newQueue[T any](call string, limit int, held buffer[T]) *Queue[T] {
	if limit < 0 {
		panic("rondo: " + call + " with a negative limit")
	}
	return &Queue[T]{limit: limit, held: held}
}

// Put adds v. It waits while the queue is full. It returns ErrQueueClosed if the queue is
// or gets closed, and the cause if ctx is cancelled first; v was not added then.
func (q *Queue[T]) Put(ctx context.Context, v T) error {
	if q.closed || !q.full() {
		if err := Checkpoint(ctx); err != nil {
			return err
		}
	}
	if q.closed {
		return ErrQueueClosed
	}
	if q.full() {
		q.putters.Of = &q.Name
		if err := q.putters.Park(ctx, Reason{What: "put"}); err != nil {
			return err
		}
		return q.putReserved(v)
	}
	q.push(v)
	return nil
}

// putReserved adds v after a wait: there is room for it, unless q was closed.
func (q *Queue[T]) putReserved(v T) error {
	if q.closed {
		return ErrQueueClosed
	}
	q.reserved--
	put := false
	defer func() {
		if !put && q.putters.Wake() { // less has panicked: the room is another's
			q.reserved++
		}
	}()
	q.push(v)
	put = true
	return nil
}

// PutCase is Put as a case of a Select.
func (q *Queue[T]) PutCase(v T) Case { return Case{On: (*putCase[T])(q), To: v} }

type putCase[T any] Queue[T]

func (c *putCase[T]) Try(_ context.Context, v any) (bool, error) {
	if c.closed {
		return true, ErrQueueClosed
	}
	value, _ := v.(T) // a nil interface is no T
	return (*Queue[T])(c).TryPut(value), nil
}

func (c *putCase[T]) Begin(context.Context) (*WaitList, Reason) {
	c.putters.Of = &c.Name
	return &c.putters, Reason{What: "put"}
}

func (c *putCase[T]) End(v any, woken bool) error {
	if !woken {
		return nil
	}
	value, _ := v.(T)
	return (*Queue[T])(c).putReserved(value)
}

// TryPut adds v if there is room, and reports whether there was. It never suspends. It returns
// false if the queue is closed.
func (q *Queue[T]) TryPut(v T) bool {
	if q.closed || q.full() {
		return false
	}
	q.push(v)
	return true
}

// Get takes the value that is next. It waits while the queue is empty. It returns
// ErrQueueClosed if the queue is closed and empty, and the cause if ctx is
// cancelled first; no value was taken then.
func (q *Queue[T]) Get(ctx context.Context) (T, error) {
	var zero T
	if q.closed || q.held.len() > q.promised {
		if err := Checkpoint(ctx); err != nil {
			return zero, err
		}
	}
	if q.held.len() == q.promised {
		if q.closed {
			return zero, ErrQueueClosed
		}
		q.getters.Of = &q.Name
		if err := q.getters.Park(ctx, Reason{What: "get"}); err != nil {
			return zero, err
		}
		return q.getPromised()
	}
	return q.pop(), nil
}

// getPromised takes the value that was promised to a task that waited, unless q was closed.
func (q *Queue[T]) getPromised() (v T, err error) {
	if q.promised == 0 {
		return v, ErrQueueClosed
	}
	q.promised--
	taken := false
	defer func() {
		if !taken && q.getters.Wake() { // less has panicked: the value is another's
			q.promised++
		}
	}()
	v, taken = q.pop(), true
	return v, nil
}

// GetCase is Get as a case of a Select. The value is in *v when the case is taken
// without an error.
func (q *Queue[T]) GetCase(v *T) Case {
	if v == nil {
		panic("rondo: Queue.GetCase with a nil pointer")
	}
	return Case{On: (*getCase[T])(q), To: v}
}

type getCase[T any] Queue[T]

func (c *getCase[T]) Try(_ context.Context, v any) (bool, error) {
	q := (*Queue[T])(c)
	if q.Len() > 0 {
		*v.(*T) = q.pop()
		return true, nil
	}
	return q.closed, ErrQueueClosed
}

func (c *getCase[T]) Begin(context.Context) (*WaitList, Reason) {
	c.getters.Of = &c.Name
	return &c.getters, Reason{What: "get"}
}

func (c *getCase[T]) End(v any, woken bool) error {
	if !woken {
		return nil
	}
	value, err := (*Queue[T])(c).getPromised()
	if err == nil {
		*v.(*T) = value
	}
	return err
}

// TryGet takes the value that is next if there is one, and reports whether there
// was. It never suspends.
func (q *Queue[T]) TryGet() (T, bool) {
	if q.held.len() == q.promised {
		var zero T
		return zero, false
	}
	return q.pop(), true
}

// Len counts the values that can be got without waiting.
func (q *Queue[T]) Len() int { return q.held.len() - q.promised }

// All ranges over the values, waiting for each, until the queue is closed and
// empty or ctx is cancelled. The range panics if ctx belongs to no loop.
//
//go:noinline
func (q *Queue[T]) All(ctx context.Context) iter.Seq[T] {
	return func(yield func(T) bool) {
		for {
			v, err := q.Get(ctx)
			if err != nil && Current(ctx) == nil {
				panic(err.Error()) // not the cause of a cancellation, which is another task's
			}
			if err != nil || !yield(v) {
				return
			}
		}
	}
}

// Close ends the queue: every Put fails from now on, including those that wait; Get returns the
// values that are left and then fails. Closing it again does nothing. It never suspends.
func (q *Queue[T]) Close() {
	q.closed = true
	q.putters.WakeAll()
	q.getters.WakeAll()
}

// Abort closes the queue as Close does, and drops the values that are left. Join does not wait
// for the dropped values. A Get that was woken for a value before still returns one. It never
// suspends.
func (q *Queue[T]) Abort() {
	q.Close()
	dropped := q.held.len() - q.promised
	q.held.keep(q.promised)
	q.done(dropped)
}

// TaskDone says that the work on one value that was got is finished. It never
// suspends. It panics if it is called more often than there were values.
func (q *Queue[T]) TaskDone() {
	if q.open == 0 {
		panic("rondo: TaskDone called more often than values were put in the Queue: call it once for each value that Get returned")
	}
	q.done(1)
}

func (q *Queue[T]) done(n int) {
	q.open -= n
	if q.open == 0 {
		q.joiners.WakeAll()
	}
}

// Join waits until TaskDone has been called once for every value that was put. By the time that
// it returns, more values may have been put. It returns the cause if ctx is cancelled first.
func (q *Queue[T]) Join(ctx context.Context) error {
	if q.open == 0 {
		return Checkpoint(ctx)
	}
	q.joiners.Of = &q.Name
	return q.joiners.Park(ctx, Reason{What: "join"})
}

// Dropped counts the values that Put has dropped, in a Queue of NewSlidingQueue. Join does not
// wait for these.
func (q *Queue[T]) Dropped() uint64 { return q.slid }

func (q *Queue[T]) full() bool {
	return q.limit > 0 && !q.slides && q.held.len()+q.reserved >= q.limit
}

// push adds v, and promises a value to the getter that has waited longest.
func (q *Queue[T]) push(v T) {
	if q.slides && q.held.len() == q.limit {
		q.held.take() // a value that is promised is any value
		q.slid++
		q.open--
	}
	q.held.put(v)
	q.open++
	Handed(v)
	// Where v has taken the place of a value, each one may be promised already.
	if q.promised < q.held.len() && q.getters.Wake() {
		q.promised++
	}
}

// pop takes the next value, and reserves the room for the putter that has waited longest.
func (q *Queue[T]) pop() T {
	v := q.held.take()
	if !q.closed && q.putters.Wake() {
		q.reserved++
	}
	return v
}

// A buffer has the values of a Queue, and alone knows which is next: the first or the last of
// the ring, in which they are in the order in which they were put; or the least of the heap.
type buffer[T any] struct {
	ring ring.Ring[T]
	last bool          // the last one is next
	heap *heap.Heap[T] // nil unless the least is next
}

func (b *buffer[T]) len() int {
	if b.heap != nil {
		return b.heap.Len()
	}
	return b.ring.Len()
}

func (b *buffer[T]) put(v T) {
	if b.heap != nil {
		b.heap.Add(v)
		return
	}
	b.ring.Add(v)
}

// take removes the value that is next and returns it. There must be one.
func (b *buffer[T]) take() T {
	switch {
	case b.heap != nil:
		return b.heap.Take()
	case b.last:
		return b.ring.TakeLast()
	}
	return b.ring.Take()
}

// keep drops all but the n values that are next.
func (b *buffer[T]) keep(n int) {
	if b.heap != nil {
		b.heap.Keep(n)
		return
	}
	for b.ring.Len() > n {
		if b.last {
			b.ring.Take()
		} else {
			b.ring.TakeLast()
		}
	}
}
