package broadcast

// A Topic passes each value to all its subscriptions. The law: a value is published
// to all subscriptions in one step, so each has the same values in the same order,
// but for what it was too slow for; and a Publish that is cancelled has published
// nothing.

import (
	"context"
	"iter"
	"unsafe"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/list"
	"github.com/rondo-go/rondo/internal/nocopy"
)

// Slow says what a Topic does when the queue of a Subscription is full.
type Slow uint8

const (
	// Wait makes Publish wait until the reader has taken a value. So the slowest
	// reader sets the pace for all.
	Wait Slow = iota
	// Skip drops the oldest value of the queue. Subscription.Skipped counts them.
	Skip
	// Drop ends the subscription. The reader gets what is in the queue and then ErrSlow.
	Drop
)

// A Topic hands each value to every Subscription that there is when it is published.
// Without a Subscription a value is gone. The zero value is ready.
type Topic[T any] struct {
	// Name identifies the Topic in rondo tree and in reports.
	Name string

	subscriptions list.List[Subscription[T]] // in the order of Subscribe
	full          int                        // how many of them Publish waits for
	closed        bool
	publishers    rondo.WaitList // they wait for room in the queues of slow readers
	granted       bool           // one of them was woken and has not published yet
}

// Publish hands v to every Subscription. It waits while the queue of one that was made
// with Wait is full; others that publish meanwhile follow in their order. It returns
// ErrClosed if the Topic is or gets closed, and the cause if ctx is cancelled first; no
// reader has v then.
func (t *Topic[T]) Publish(ctx context.Context, v T) error {
	if t.closed || !t.mustWait() {
		if err := rondo.Checkpoint(ctx); err != nil {
			return err
		}
	}
	if t.closed {
		return ErrClosed
	}
	if t.mustWait() {
		t.publishers.Of = &t.Name
		if err := t.publishers.Park(ctx, rondo.Reason{What: "publish"}); err != nil {
			return err
		}
		if t.closed {
			return ErrClosed
		}
		t.granted = false
	}
	t.publish(v)
	return nil
}

// TryPublish is Publish that does not wait, and reports whether it has published v. It
// never suspends.
func (t *Topic[T]) TryPublish(v T) bool {
	if t.closed || t.mustWait() {
		return false
	}
	t.publish(v)
	return true
}

// Close ends the Topic: Publish fails from now on, those that wait included. Readers
// get what is in their queues, and then ErrClosed. Closing it again does nothing. It
// never suspends.
func (t *Topic[T]) Close() {
	t.closed = true
	t.publishers.WakeAll()
	for s := range t.subscriptions.All(linksAt[T]()) {
		s.end(ErrClosed)
	}
}

// Subscribe makes a Subscription, whose reader gets what is published from now on. Its
// queue holds at most limit values; slow says what happens when it is full. Of a closed
// Topic it is closed too. Subscribe never suspends. It panics if limit is not positive
// or slow is none of Wait, Skip and Drop.
func (t *Topic[T]) Subscribe(limit int, slow Slow) *Subscription[T] {
	if limit <= 0 {
		panic("rondo: broadcast.Topic.Subscribe with a limit that is not positive")
	}
	if slow > Drop {
		panic("rondo: broadcast.Topic.Subscribe with a Slow that is none of Wait, Skip and Drop")
	}
	s := &Subscription[T]{topic: t, slow: slow, limit: limit}
	if slow == Skip {
		s.queue = rondo.NewSlidingQueue[T](limit)
	} else {
		s.queue = rondo.NewQueue[T](limit)
	}
	t.subscriptions.Add(s, linksAt[T]())
	if t.closed {
		s.end(ErrClosed)
	}
	return s
}

// mustWait reports whether a Publish has to wait. Publishers are in the list only while a
// queue is full, or one of them is about to publish.
func (t *Topic[T]) mustWait() bool { return t.granted || t.full > 0 }

func (t *Topic[T]) publish(v T) {
	for s := range t.subscriptions.All(linksAt[T]()) {
		if !s.queue.TryPut(v) {
			s.end(ErrSlow)
			continue
		}
		if s.held++; s.full() {
			t.full++
		}
	}
	t.grant()
}

// grant wakes the publisher that has waited longest if there is room for its value.
func (t *Topic[T]) grant() {
	if !t.closed && !t.mustWait() {
		t.granted = t.publishers.Wake()
	}
}

// A Subscription is one reader's share of a Topic, with a queue of its own.
type Subscription[T any] struct {
	_     nocopy.Field
	topic *Topic[T]
	queue *rondo.Queue[T]
	slow  Slow
	limit int
	held  int   // values that were put and not taken; with Skip those dropped as well
	err   error // why it has ended
	links list.Links[Subscription[T]]
}

func linksAt[T any]() uintptr { return unsafe.Offsetof(Subscription[T]{}.links) }

// Next takes the next value. It waits until there is one. When the Subscription has
// ended and its queue is empty, it returns ErrClosed or ErrSlow. It returns the cause if
// ctx is cancelled first; no value was taken then.
func (s *Subscription[T]) Next(ctx context.Context) (T, error) {
	s.queue.Name = s.topic.Name
	v, err := s.queue.Get(ctx)
	return v, s.taken(err)
}

// NextCase is Next as a case of rondo.Select. The value is in *v when the case is taken
// without an error.
func (s *Subscription[T]) NextCase(v *T) rondo.Case {
	if v == nil {
		panic("rondo: broadcast.Subscription.NextCase with a nil pointer")
	}
	return rondo.Case{On: (*nextCase[T])(s), To: v}
}

// All ranges over the values, waiting for each, until the Subscription has ended, after which Err
// says why, or ctx is cancelled. The range panics if ctx belongs to no loop.
//
//go:noinline
func (s *Subscription[T]) All(ctx context.Context) iter.Seq[T] {
	return func(yield func(T) bool) {
		for {
			v, err := s.Next(ctx)
			if err != nil && rondo.Current(ctx) == nil {
				panic(err.Error())
			}
			if err != nil || !yield(v) {
				return
			}
		}
	}
}

// Err returns why the Subscription has ended: ErrClosed or ErrSlow; nil if it goes on.
func (s *Subscription[T]) Err() error { return s.err }

// Len counts the values that can be taken without waiting.
func (s *Subscription[T]) Len() int { return s.queue.Len() }

// Skipped counts the values that the reader has missed, because it was made with Skip
// and was too slow.
func (s *Subscription[T]) Skipped() uint64 { return s.queue.Dropped() }

// Close ends the Subscription and drops what is in its queue. A Publish that waits for
// its reader goes on. Closing it again does nothing. It never suspends.
func (s *Subscription[T]) Close() {
	s.end(ErrClosed)
	s.queue.Abort()
	s.topic.grant()
}

// end takes s off the Topic. What is in its queue stays.
func (s *Subscription[T]) end(why error) {
	if s.err != nil {
		return
	}
	if s.full() {
		s.topic.full--
	}
	s.err = why
	s.topic.subscriptions.Remove(s, linksAt[T]())
	s.queue.Close()
}

// full reports whether Publish waits for the reader of s.
func (s *Subscription[T]) full() bool {
	return s.slow == Wait && s.held >= s.limit && s.err == nil
}

// taken is called when Get of the queue has returned err.
func (s *Subscription[T]) taken(err error) error {
	switch {
	case err == nil:
		if s.full() {
			s.topic.full--
		}
		s.held--
		s.topic.grant()
	case err == rondo.ErrQueueClosed:
		return s.err
	}
	return err
}

// nextCase is a case on the queue, with what Next adds to Get.
type nextCase[T any] Subscription[T]

func (c *nextCase[T]) Try(ctx context.Context, v any) (bool, error) {
	taken, err := c.get(v).Try(ctx, v)
	if !taken {
		return false, nil
	}
	return true, (*Subscription[T])(c).taken(err)
}

func (c *nextCase[T]) Begin(ctx context.Context) (*rondo.WaitList, rondo.Reason) {
	c.queue.Name = c.topic.Name
	return c.get(new(T)).Begin(ctx)
}

func (c *nextCase[T]) End(v any, woken bool) error {
	err := c.get(v).End(v, woken)
	if !woken {
		return nil
	}
	return (*Subscription[T])(c).taken(err)
}

// get returns what the queue's case is on.
func (c *nextCase[T]) get(v any) rondo.Selectable { return c.queue.GetCase(v.(*T)).On }
