package broadcast

// This file has the Topic. The law: a value is published to all subscriptions in one
// step, so each has the same values in the same order, but for what it was too slow
// for; and a Publish that is cancelled has published nothing.

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/rondo-go/rondo"
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
	// Name is for people who look at the program.
	Name string

	subscriptions []*Subscription[T]
	closed        bool
	publishers    rondo.WaitList // they wait for room in the queues of slow readers
	granted       bool           // one of them was woken and has not published yet
}

// Publish hands v to every Subscription. It waits while the queue of one that was made
// with Wait is full; others that publish meanwhile follow in their order. It returns
// ErrClosed if the Topic is or gets closed, and the cause if ctx is cancelled first; no
// reader has v then.
func (t *Topic[T]) Publish(ctx context.Context, v T) error {
	if t.closed {
		return cmp.Or(rondo.Check(ctx), ErrClosed)
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
	} else if err := rondo.Check(ctx); err != nil {
		return err
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
	for _, s := range slices.Clone(t.subscriptions) {
		s.end(ErrClosed)
	}
}

// Subscribe makes a Subscription, whose reader gets what is published from now on. Its
// queue holds at most limit values; slow says what happens when it is full. Of a closed
// Topic it is closed too. Subscribe never suspends. It panics if limit is not positive.
func (t *Topic[T]) Subscribe(limit int, slow Slow) *Subscription[T] {
	if limit <= 0 {
		panic("rondo: broadcast.Topic.Subscribe with a limit that is not positive")
	}
	s := &Subscription[T]{topic: t, slow: slow, limit: limit}
	if slow == Skip {
		s.queue = rondo.NewSlidingQueue[T](limit)
	} else {
		s.queue = rondo.NewQueue[T](limit)
	}
	t.subscriptions = append(t.subscriptions, s)
	if t.closed {
		s.end(ErrClosed)
	}
	return s
}

func (t *Topic[T]) mustWait() bool { return t.granted || t.publishers.Len() > 0 || !t.room() }

// room reports whether each reader for which Publish waits has room.
func (t *Topic[T]) room() bool {
	return !slices.ContainsFunc(t.subscriptions, func(s *Subscription[T]) bool { return s.slow == Wait && s.held >= s.limit })
}

func (t *Topic[T]) publish(v T) {
	var slow []*Subscription[T]
	for _, s := range t.subscriptions {
		if s.queue.TryPut(v) {
			s.held++
		} else {
			slow = append(slow, s)
		}
	}
	for _, s := range slow {
		s.end(ErrSlow)
	}
	t.grant()
}

// grant wakes the publisher that has waited longest if there is room for its value.
func (t *Topic[T]) grant() {
	if !t.granted && !t.closed && t.room() {
		t.granted = t.publishers.Wake()
	}
}

// A Subscription is one reader's share of a Topic, with a queue of its own.
type Subscription[T any] struct {
	topic *Topic[T]
	queue *rondo.Queue[T]
	slow  Slow
	limit int
	held  int   // values that were put and not taken; with Skip those dropped as well
	err   error // why it has ended
}

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

// All ranges over the values, waiting for each, until the Subscription has ended or ctx
// is cancelled. When it is over Err returns why. The range panics if ctx belongs to no
// loop.
//
//go:noinline
func (s *Subscription[T]) All(ctx context.Context) iter.Seq[T] {
	return func(yield func(T) bool) {
		for {
			v, err := s.Next(ctx)
			if errors.Is(err, rondo.ErrNoLoop) {
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
}

// end takes s off the Topic. What is in its queue stays.
func (s *Subscription[T]) end(why error) {
	if s.err != nil {
		return
	}
	s.err = why
	s.topic.subscriptions = slices.DeleteFunc(s.topic.subscriptions, func(o *Subscription[T]) bool { return o == s })
	s.queue.Close()
	s.topic.grant()
}

// taken is called when Get of the queue has returned err.
func (s *Subscription[T]) taken(err error) error {
	switch {
	case err == nil:
		s.held--
		s.topic.grant()
	case errors.Is(err, rondo.ErrQueueClosed):
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
