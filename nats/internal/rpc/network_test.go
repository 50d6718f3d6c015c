package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats/internal/rpc"
	"github.com/rondo-go/rondo/sim"
)

// A network carries messages between hosts as NATS does, in a simulation. Unless it is
// calm it loses some, delivers some twice, and delays some so that others overtake them.
// Hosts may die, and may be cut off from the others.
type network struct {
	ctx           context.Context
	calm          bool
	subscriptions []*subscription
	hosts         int
	cut           map[*host]bool // those that reach nobody, and whom nobody reaches
	lost, doubled int
}

// A subscription is known to the network until it ends or its host dies.
type subscription struct {
	host           *host
	subject, queue string
	fn             func(m rpc.Message)
}

// A host is a Transport of the network.
type host struct {
	net     *network
	name    string
	dead    bool
	inboxes int
	max     int
	refuses func(m rpc.Message) bool // what cannot be published; nil: nothing
}

func (n *network) host() *host {
	n.hosts++
	return &host{net: n, name: fmt.Sprint("h", n.hosts), max: 1000}
}

func (h *host) MaxPayload() int { return h.max }

func (h *host) Inbox() string {
	h.inboxes++
	return fmt.Sprint("_INBOX.", h.name, ".", h.inboxes)
}

func (h *host) Subscribe(ctx context.Context, subject, queue string, fn func(m rpc.Message)) (func(), error) {
	if err := rondo.Yield(ctx); err != nil {
		return nil, err
	}
	s := &subscription{h, subject, queue, fn}
	h.net.subscriptions = append(h.net.subscriptions, s)
	return func() {
		h.net.subscriptions = slices.DeleteFunc(h.net.subscriptions, func(o *subscription) bool { return o == s })
	}, nil
}

// Publish suspends the task from time to time, as one that finds no room does.
func (h *host) Publish(ctx context.Context, m rpc.Message) error {
	if err := rondo.Check(ctx); err != nil {
		return err
	}
	if h.refuses != nil && h.refuses(m) {
		return errors.New("refused")
	}
	if sim.Choose(ctx, 8) == 7 {
		if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	h.net.route(h, m)
	return nil
}

// kill ends a host at once: nothing that it sends or is sent counts any more.
func (h *host) kill() {
	h.dead = true
	h.net.subscriptions = slices.DeleteFunc(h.net.subscriptions, func(s *subscription) bool { return s.host == h })
}

// route delivers a message to those that listen: to all without a queue, and to one of
// each queue.
func (n *network) route(from *host, m rpc.Message) {
	if from.dead || n.cut[from] {
		n.lost++
		return
	}
	queues := make(map[string][]*subscription)
	var names []string
	found := false
	for _, s := range n.subscriptions {
		if !matches(s.subject, m.Subject) {
			continue
		}
		found = true
		if s.queue == "" {
			n.send(s, m)
			continue
		}
		if queues[s.queue] == nil {
			names = append(names, s.queue)
		}
		queues[s.queue] = append(queues[s.queue], s)
	}
	for _, q := range names {
		n.send(queues[q][sim.Choose(n.ctx, len(queues[q]))], m)
	}
	if !found && m.Reply != "" {
		n.route(from, rpc.Message{Subject: m.Reply, Kind: rpc.Unreachable})
	}
}

func matches(pattern, subject string) bool {
	before, wild := strings.CutSuffix(pattern, "*")
	return pattern == subject || wild && strings.HasPrefix(subject, before)
}

// latencies are how long a message may be under way, in a network that is not calm.
var latencies = []time.Duration{
	time.Millisecond, time.Millisecond, time.Millisecond, time.Millisecond, 2 * time.Millisecond, 10 * time.Millisecond,
	50 * time.Millisecond, 700 * time.Millisecond, 3 * time.Second,
}

// send sends a message on its way to one subscription.
func (n *network) send(s *subscription, m rpc.Message) {
	times := 1
	if !n.calm {
		switch sim.Choose(n.ctx, 16) {
		case 15:
			n.lost++
			return
		case 14:
			n.doubled++
			times = 2
		}
	}
	for range times {
		late := time.Millisecond
		if !n.calm {
			late = latencies[sim.Choose(n.ctx, len(latencies))]
		}
		rondo.LoopOf(n.ctx).CallLater(late, func() {
			if s.host.dead || n.cut[s.host] || !slices.Contains(n.subscriptions, s) {
				n.lost++
				return
			}
			s.fn(m)
		})
	}
}
