package nats

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"

	natsgo "github.com/nats-io/nats.go"

	"github.com/rondo-go/rondo"
)

// A Subscription receives the messages of a subject. It belongs to the loop of its Conn,
// and ends with it.
type Subscription struct {
	conn    *Conn
	subject string
	max     int64
	bytes   int64                // the most that the messages that wait may have; 0: no limit
	own     bool                 // the connection's, which Drain leaves
	sub     *natsgo.Subscription // the writer sets it, under the lock of the inbox

	dropped  atomic.Uint64 // messages for which there was no room
	lost     int           // messages that the client has dropped, as far as it was asked; under the lock of the inbox
	taken    atomic.Int64  // messages that were taken; the loop writes it, not at each one
	arrived  int64         // messages that have arrived; under the lock of the inbox
	weight   int64         // bytes that have arrived, if bytes is set; under that lock
	lifted   atomic.Int64  // bytes that were taken, as the loop has written it
	dropping bool          // the last message was dropped; under that lock

	// The rest is the loop's.
	fn        func(m *natsgo.Msg) // is called with each message, nil with the end; or nil
	queue     []*natsgo.Msg       // what nobody has taken, from head on; nil is a gap
	head      int
	promised  int   // messages of the queue for tasks that were woken and have not run yet
	took      int64 // messages that were taken
	tookBytes int64 // and their bytes, if bytes is set
	reporting bool  // reportGap is at work
	readers   rondo.WaitList
	closing   bool
	err       error // why no more will come
}

// Subscribe subscribes to subject, which may have wildcards. At most max messages wait for a
// reader; those beyond that are dropped, as in the client: delivery is at most once. Of 128 and
// more up to 31 may be dropped early, because not each Next is counted at once. Subscribe suspends
// the task until the client has sent the subscription on its way, so that a Publish of c afterwards
// comes later. A message that others publish before c.Flush has returned may be missed. If ctx
// is cancelled first it returns the cause, and there is no subscription. Once c.Drain has begun,
// the error wraps the client's ErrConnectionDraining. It panics if max is not positive.
func (c *Conn) Subscribe(ctx context.Context, subject string, max int) (*Subscription, error) {
	if max <= 0 {
		panic("nats: Subscribe with a limit that is not positive")
	}
	s := &Subscription{conn: c, subject: subject, max: int64(max)}
	if err := c.subscribe(ctx, s, ""); err != nil {
		return nil, err
	}
	return s, nil
}

// subscribe makes s receive.
func (c *Conn) subscribe(ctx context.Context, s *Subscription, queue string) error {
	if err := c.check(ctx); err != nil {
		return err
	}
	if err := checkSubscribe(s.subject, queue); err != nil {
		return fmt.Errorf("nats: subscribe %s: %w", shown(s.subject), err)
	}
	if c.draining && !s.own {
		return fmt.Errorf("nats: subscribe %s: %w", shown(s.subject), natsgo.ErrConnectionDraining)
	}
	s.readers.Of = &s.subject
	var opened rondo.WaitList
	opened.Of = &s.subject
	var failure error
	over := false
	put := c.err == nil && c.out.put(op{do: func(nc *natsgo.Conn) {
		err := c.open(nc, s, queue)
		c.post(func() {
			failure, over = err, true
			opened.Wake()
		})
	}}, nil)
	if !put {
		return fmt.Errorf("nats: subscribe %s: %w", shown(s.subject), c.closed())
	}
	c.subscriptions = append(c.subscriptions, s)
	if !over {
		if err := c.wait(ctx, &opened, "nats subscribe"); err != nil {
			s.Close()
			return err
		}
	}
	if failure != nil {
		s.end(failure)
		return fmt.Errorf("nats: subscribe %s: %w", shown(s.subject), failure)
	}
	return nil
}

// Subject returns the subject that Subscribe was called with.
func (s *Subscription) Subject() string { return s.subject }

// Next takes the next message. It suspends the task until there is one. If ctx is
// cancelled first it returns the cause, and no message was taken.
//
// Where messages were dropped it returns the client's ErrSlowConsumer, once for each gap,
// and goes on behind it at the next call. When the Subscription has ended and all that had
// arrived was taken, the error is the client's ErrBadSubscription after Close,
// ErrConnectionDraining after Drain, and wraps ErrConnectionClosed after the end of the
// connection.
func (s *Subscription) Next(ctx context.Context) (*natsgo.Msg, error) {
	if err := rondo.Checkpoint(ctx); err != nil {
		return nil, err
	}
	if taken, m, err := s.try(); taken {
		return m, err
	}
	if err := s.conn.wait(ctx, &s.readers, "nats message"); err != nil {
		return nil, err
	}
	return s.receive()
}

// try takes the next message that is for nobody else, or the end. It reports whether there
// was either.
func (s *Subscription) try() (taken bool, m *natsgo.Msg, err error) {
	if len(s.queue)-s.head > s.promised {
		m, err = s.pop()
		return true, m, err
	}
	return s.err != nil, nil, s.err
}

// receive takes the message for which a task was woken, or the end.
func (s *Subscription) receive() (*natsgo.Msg, error) {
	s.promised = max(s.promised-1, 0)
	if s.head == len(s.queue) {
		return nil, s.err
	}
	return s.pop()
}

// NextCase is Next as a case of a rondo.Select. The message is in *m when the case is taken
// without an error.
func (s *Subscription) NextCase(m **natsgo.Msg) rondo.Case {
	if m == nil {
		panic("nats: Subscription.NextCase with a nil pointer")
	}
	return rondo.Case{On: (*nextCase)(s), To: m}
}

type nextCase Subscription

func (c *nextCase) Try(_ context.Context, to any) (bool, error) {
	taken, m, err := (*Subscription)(c).try()
	if taken {
		*to.(**natsgo.Msg) = m
	}
	return taken, err
}

func (c *nextCase) Begin(context.Context) (*rondo.WaitList, rondo.Reason) {
	c.conn.expose(1)
	return &c.readers, rondo.Reason{What: "nats message"}
}

func (c *nextCase) End(to any, woken bool) error {
	c.conn.expose(-1)
	if !woken {
		return nil
	}
	m, err := (*Subscription)(c).receive()
	*to.(**natsgo.Msg) = m
	return err
}

// All ranges over the messages, waiting for each, as Next does. Behind a gap it goes on
// after an ErrSlowConsumer. Any other error ends the range, and is its last element, except
// that the end by Close or Drain is no error.
func (s *Subscription) All(ctx context.Context) iter.Seq2[*natsgo.Msg, error] {
	return func(yield func(*natsgo.Msg, error) bool) {
		for {
			m, err := s.Next(ctx)
			switch {
			case err == natsgo.ErrBadSubscription, err == natsgo.ErrConnectionDraining:
				return
			case !yield(m, err), err != nil && err != natsgo.ErrSlowConsumer:
				return
			}
		}
	}
}

// Len counts the messages that can be taken without waiting.
func (s *Subscription) Len() int {
	n := 0
	for _, m := range s.queue[s.head:] {
		if m != nil {
			n++
		}
	}
	return max(n-s.promised, 0)
}

// Dropped counts the messages that were dropped because nobody took them in time.
func (s *Subscription) Dropped() uint64 {
	s.conn.in.mu.Lock()
	defer s.conn.in.mu.Unlock()
	s.countLost()
	return s.dropped.Load() + uint64(s.lost)
}

// countLost asks the client how many messages it has dropped before they came to the
// inbox. It no longer knows when the subscription has ended. The inbox is locked.
func (s *Subscription) countLost() {
	if n, err := s.sub.Dropped(); err == nil {
		s.lost = n
	}
}

// Close ends the Subscription and drops what has arrived. It never suspends: the server is told
// later. Closing it again does nothing.
func (s *Subscription) Close() {
	s.unsubscribe()
	s.drop()
}

// unsubscribe has the client unsubscribe. What has arrived by then is still taken.
func (s *Subscription) unsubscribe() {
	if !s.closing {
		s.closing = true
		s.conn.out.put(op{do: func(*natsgo.Conn) {
			s.conn.shut(s)
			s.conn.post(s.drop)
		}}, nil)
	}
}

// drop ends a Subscription that nobody reads any more.
func (s *Subscription) drop() {
	s.end(natsgo.ErrBadSubscription)
	s.queue, s.head, s.promised = nil, 0, 0
}

// take takes in messages.
func (s *Subscription) take(messages []*natsgo.Msg) {
	if s.fn == nil {
		s.push(messages...)
		return
	}
	for _, m := range messages {
		if s.err != nil {
			return
		}
		s.count(m)
		s.fn(m)
	}
}

// takeGap takes in that messages were dropped.
func (s *Subscription) takeGap() {
	switch {
	case s.fn == nil:
		s.push(nil)
	case s.err == nil:
		s.conn.reportGap(s)
	}
}

// countEvery is how many messages are taken before the goroutine that counts what has
// arrived is told. It must not see each change: that costs more than the rest of Next.
const countEvery = 32

// count counts a message that was taken.
func (s *Subscription) count(m *natsgo.Msg) {
	if s.bytes > 0 {
		s.tookBytes += int64(m.Size())
		if s.tookBytes-s.lifted.Load() >= s.bytes/countEvery || s.head == len(s.queue) {
			s.lifted.Store(s.tookBytes)
		}
	}
	if s.took++; s.max < 4*countEvery || s.took%countEvery == 0 || s.head == len(s.queue) {
		s.taken.Store(s.took)
	}
}

// end notes that no more will come, and why.
func (s *Subscription) end(why error) {
	if s.err != nil {
		return
	}
	s.err = why
	s.conn.forget(s)
	s.readers.WakeAll()
	if s.fn != nil && why != natsgo.ErrBadSubscription {
		s.fn(nil)
	}
}

// push puts messages into the queue, for those that wait and those that will. nil is a gap.
func (s *Subscription) push(messages ...*natsgo.Msg) {
	if s.err != nil {
		return
	}
	if s.head > 32 && s.head > len(s.queue)/2 {
		n := copy(s.queue, s.queue[s.head:])
		clear(s.queue[n:])
		s.queue, s.head = s.queue[:n], 0
	}
	s.queue = append(s.queue, messages...)
	for range messages {
		if !s.readers.Wake() {
			break
		}
		s.promised++
	}
}

// pop takes what is first in the queue.
func (s *Subscription) pop() (*natsgo.Msg, error) {
	m := s.queue[s.head]
	s.queue[s.head] = nil
	s.head++
	if s.head == len(s.queue) {
		s.queue, s.head = s.queue[:0], 0
	}
	if m == nil {
		return nil, natsgo.ErrSlowConsumer
	}
	s.count(m)
	return m, nil
}
