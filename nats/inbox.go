package nats

// The inbox brings messages from the client to the loop. The law: the client never waits
// for the loop, nor the loop for the client. One goroutine takes what the client has
// read from all subscriptions, and hands it to the loop in batches. Each subscription
// limits how much may wait for the loop; what is above the limit is dropped, counted,
// and known to the reader at the place of the gap.

import (
	"runtime"
	"sync"

	natsgo "github.com/nats-io/nats.go"
)

const (
	channelMax = 64 << 10 // messages that the client has read and the goroutine has not taken
	takeMax    = 256      // messages that it takes at once
	keepMax    = 16 << 10 // messages for which room is kept
)

// An arrival is n messages for a Subscription, one after the other; or with none a gap:
// messages were dropped there. Or it is a function that is called when all before it was
// delivered.
type arrival struct {
	to *Subscription
	n  int
	do func()
}

// Arrivals are in the order in which they came. The messages are apart from the rest, so
// that one more message is one more pointer.
type arrivals struct {
	all      []arrival
	messages []*natsgo.Msg
}

// add adds a message.
func (a *arrivals) add(s *Subscription, m *natsgo.Msg) {
	a.messages = append(a.messages, m)
	if last := len(a.all) - 1; last >= 0 && a.all[last].to == s && a.all[last].n > 0 {
		a.all[last].n++
		return
	}
	a.all = append(a.all, arrival{to: s, n: 1})
}

func (a *arrivals) clear() {
	clear(a.all)
	clear(a.messages)
	a.all, a.messages = a.all[:0], a.messages[:0]
}

// An inbox is what has arrived and was not delivered on the loop yet.
type inbox struct {
	ch   chan *natsgo.Msg // the client sends, for all subscriptions
	stop chan struct{}    // closed at the end

	mu      sync.Mutex
	subs    map[*natsgo.Subscription]*Subscription
	last    *Subscription                          // that of the last message, in subs
	opening int                                    // subscriptions that are being made, and not in subs yet
	early   map[*natsgo.Subscription][]*natsgo.Msg // what has come for those
	marks   []func()                               // of the markers in ch, in their order
	next    arrivals
	spare   arrivals
	posted  bool // the loop will take next
}

// open subscribes at the client. It is called by the writer.
func (c *Conn) open(nc *natsgo.Conn, s *Subscription, queue string) error {
	i := &c.in
	i.mu.Lock()
	i.opening++
	i.mu.Unlock()
	sub, err := nc.ChanQueueSubscribe(s.subject, queue, i.ch)
	i.mu.Lock()
	i.opening--
	if err == nil {
		s.sub = sub
		i.subs[sub] = s
	}
	early := i.early[sub]
	delete(i.early, sub)
	if i.opening == 0 {
		clear(i.early)
	}
	for _, m := range early {
		c.arrive(s, m)
	}
	wake := i.wake()
	i.mu.Unlock()
	if wake {
		c.post(c.deliver)
	}
	return err
}

// nobody is a subscription to which nothing comes.
var nobody = new(Subscription)

// shut unsubscribes at the client. It is called by the writer.
func (c *Conn) shut(s *Subscription) {
	if s.sub == nil {
		return
	}
	c.in.mu.Lock()
	s.countLost()
	c.in.mu.Unlock()
	_ = s.sub.Unsubscribe() // it fails only if the subscription or the connection has ended
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	delete(c.in.subs, s.sub)
	c.in.last = nobody
}

// wake reports whether the loop is to be told that something has arrived.
func (i *inbox) wake() bool {
	if i.posted || len(i.next.all) == 0 {
		return false
	}
	i.posted = true
	return true
}

// read is the goroutine that takes what the client has read.
func (c *Conn) read() {
	defer c.goroutines.Done()
	i := &c.in
	for {
		var m *natsgo.Msg
		select {
		case m = <-i.ch:
		case <-i.stop:
			return
		}
		// The client reads many messages at once. If it is about to send the rest of them,
		// one wake-up of the loop will do.
		if len(i.ch) < takeMax {
			runtime.Gosched()
		}
		i.mu.Lock()
		c.sort(m)
		for n := 1; n < takeMax && len(i.ch) > 0; n++ {
			c.sort(<-i.ch)
		}
		wake := i.wake()
		i.mu.Unlock()
		if wake {
			c.post(c.deliver)
		}
	}
}

// sort finds the subscription of a message. The inbox is locked.
func (c *Conn) sort(m *natsgo.Msg) {
	i := &c.in
	if m == marker {
		i.next.all = append(i.next.all, arrival{do: i.marks[0]})
		i.marks = i.marks[1:]
	} else if m.Sub == i.last.sub {
		c.arrive(i.last, m)
	} else if s := i.subs[m.Sub]; s != nil {
		i.last = s
		c.arrive(s, m)
	} else if i.opening > 0 {
		i.early[m.Sub] = append(i.early[m.Sub], m)
	}
}

// arrive adds a message, or notes that there was no room for it. The inbox is locked.
func (c *Conn) arrive(s *Subscription, m *natsgo.Msg) {
	if s.arrived-s.taken.Load() < s.max && (s.bytes == 0 || s.weight-s.lifted.Load() < s.bytes) {
		s.arrived++
		if s.bytes > 0 {
			s.weight += int64(m.Size())
		}
		s.dropping = false
		c.in.next.add(s, m)
		return
	}
	s.dropped.Add(1)
	c.gap(s)
}

// gap notes that messages of s were dropped. The inbox is locked.
func (c *Conn) gap(s *Subscription) {
	if s.dropping {
		return
	}
	s.dropping = true
	c.in.next.all = append(c.in.next.all, arrival{to: s})
}

// deliver is called on the loop when something has arrived.
func (c *Conn) deliver() {
	i := &c.in
	i.mu.Lock()
	now := i.next
	i.next, i.spare, i.posted = i.spare, arrivals{}, false
	i.mu.Unlock()
	messages := now.messages
	for _, a := range now.all {
		switch {
		case a.do != nil:
			a.do()
		case a.n == 0:
			a.to.takeGap()
		default:
			a.to.take(messages[:a.n])
			messages = messages[a.n:]
		}
	}
	now.clear()
	if cap(now.messages) > keepMax {
		return
	}
	i.mu.Lock()
	i.spare = now
	i.mu.Unlock()
}

// marker stands in the channel for a function that is to be called behind all messages
// before it.
var marker = new(natsgo.Msg)

// behindAll calls fn on the loop when all that the client has read was delivered. It is
// called by the writer.
func (c *Conn) behindAll(fn func()) {
	i := &c.in
	i.mu.Lock()
	i.marks = append(i.marks, fn)
	i.mu.Unlock()
	select {
	case i.ch <- marker:
	case <-i.stop:
	}
}
