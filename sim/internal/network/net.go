// Package network has the simulated network of a cluster: TCP, UDP and Unix sockets between
// hosts, at the level of what an application can notice.
//
// The law: bytes of a connection arrive in the order in which they were sent, or not at all;
// datagrams are lost, doubled and overtaken as the seed says.
//
// To add a fault of the network, begin in way.go.
package network

import (
	"net/netip"
	"time"

	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/moment"
	"github.com/rondo-go/rondo/sim/internal/record"
)

// A Net is the network of one run.
type Net struct {
	Profile Profile
	calm    bool // no message is lost any more
	choices *choice.Choices
	moments *moment.Heap
	clock   func() int64
	trace   *record.Trace
	log     func(k record.Kind, from, to *Node, what string, n int) // is told of each message and fault

	byAddr map[netip.Addr]*Node
	byName map[string]*Node
	byEnds map[[2]*Node]*Way
	ways   []*Way
	heals  int // how often Heal was called
}

// New returns a network without hosts, in which c chooses.
func New(c *choice.Choices, m *moment.Heap, clock func() int64, t *record.Trace, of Conditions, log func(k record.Kind, from, to *Node, what string, n int)) *Net {
	return &Net{
		Profile: newProfile(c, of), choices: c, moments: m, clock: clock, trace: t, log: log,
		byAddr: make(map[netip.Addr]*Node), byName: make(map[string]*Node), byEnds: make(map[[2]*Node]*Way),
	}
}

// in makes m happen after d.
func (w *Net) in(m *moment.Moment, d time.Duration) { w.moments.Put(m, moment.After(w.clock(), d)) }

// Between returns the way from one host to another.
func (w *Net) Between(from, to *Node) *Way {
	if from == to {
		return from.loop
	}
	ends := [2]*Node{from, to}
	l := w.byEnds[ends]
	if l == nil {
		l = &Way{net: w, from: from, to: to, Loss: -1}
		place := from.Number<<16 | to.Number
		l.delays, l.faults = w.choices.At(choice.ForLatency, place), w.choices.At(choice.ForPacket, place)
		w.byEnds[ends] = l
		w.ways = append(w.ways, l)
	}
	return l
}

// Heal ends all cuts.
func (w *Net) Heal() {
	w.heals++
	for _, l := range w.ways {
		l.Cut, l.struck = false, 0
	}
}

// Settle releases all ways, and makes them quick as far as the conditions leave that to the
// seed. No message is lost any more.
func (w *Net) Settle(of Conditions) {
	w.calm = true
	w.Profile.settle(of)
	for _, l := range w.ways {
		l.Loss, l.Extra = -1, 0
		l.Release()
	}
}
