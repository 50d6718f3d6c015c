package rpc

import (
	"context"
	"strconv"
	"strings"

	"github.com/rondo-go/rondo"
)

// An Endpoint is one side of the protocol, and may be both. It has one subject of its
// own, below which its calls and its jobs have theirs. It belongs to one loop.
type Endpoint struct {
	transport Transport
	inbox     string
	control   *rondo.Queue[Message] // what is sent without waiting; the oldest is dropped

	calls    map[uint64]*call
	lastCall uint64

	jobs    []*job // those that have a caller who listens for heartbeats
	byID    map[uint64]*job
	lastJob uint64
	busy    rondo.Event // there are jobs
	recent  recent

	loop   *rondo.Loop
	closed error // why no more messages will come
	mark   any   // a key that has a value in the ctx of each function; nil: none
}

// Mark gives key a value in the ctx of the functions of each later Serve.
func (e *Endpoint) Mark(key any) { e.mark = key }

// New makes an Endpoint. Its own tasks are background's.
func New(ctx context.Context, background *rondo.Scope, t Transport) (*Endpoint, error) {
	e := &Endpoint{
		transport: t, inbox: t.Inbox(), control: rondo.NewSlidingQueue[Message](controlMax),
		loop: rondo.LoopOf(ctx), calls: make(map[uint64]*call), byID: make(map[uint64]*job),
	}
	e.control.Name, e.busy.Name = "nats control", "nats heartbeat"
	unsubscribe, err := t.Subscribe(ctx, e.inbox+".*", "", e.receive)
	if err != nil {
		return nil, err
	}
	if err := background.Err(); err != nil { // it has ended meanwhile
		unsubscribe()
		return nil, err
	}
	background.Go(func(ctx context.Context) error {
		defer unsubscribe()
		for m := range e.control.All(ctx) {
			// All that is sent here is best effort: the other side ends without it too.
			_ = t.Publish(ctx, m)
		}
		return nil
	}).SetName("nats control")
	background.Go(e.beat).SetName("nats heartbeat")
	return e, nil
}

// receive takes a message to a call or a job of this Endpoint.
func (e *Endpoint) receive(m Message) {
	if m.Kind == Closed {
		e.end(m.Err)
		return
	}
	token := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
	if token == "" {
		return
	}
	id, err := strconv.ParseUint(token[1:], 36, 64)
	switch {
	case err != nil:
	case token[0] == 'c':
		e.reply(id, m)
	case token[0] == 'j':
		if j := e.byID[id]; j != nil {
			j.told(m.Kind)
		}
	}
}

// end ends the calls: no answer will come.
func (e *Endpoint) end(why error) {
	e.closed = why
	for _, c := range e.calls {
		c.finish(Message{}, why)
	}
}

func (e *Endpoint) callSubject(id uint64) string { return e.inbox + ".c" + strconv.FormatUint(id, 36) }
func (e *Endpoint) jobSubject(id uint64) string  { return e.inbox + ".j" + strconv.FormatUint(id, 36) }

// recent remembers the last calls by the subjects of their replies.
type recent struct {
	known map[string]bool
	ring  []string
	next  int
}

// add reports whether the call is a new one.
func (r *recent) add(reply string) bool {
	if r.known[reply] {
		return false
	}
	if r.known == nil {
		r.known = make(map[string]bool)
	}
	if len(r.ring) < recentMax {
		r.ring = append(r.ring, reply)
	} else {
		delete(r.known, r.ring[r.next])
		r.ring[r.next] = reply
		r.next = (r.next + 1) % recentMax
	}
	r.known[reply] = true
	return true
}
