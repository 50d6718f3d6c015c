package network

import (
	"fmt"
	"slices"
	"time"

	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/moment"
	"github.com/rondo-go/rondo/sim/internal/record"
)

// A Way leads from one host to another, and delays, loses and keeps messages.
//
// To add a fault of the network, add its state here, and let delay, lost or Passes look at it.
type Way struct {
	net      *Net
	from, to *Node
	reverse  *Way // nil until it is asked for
	Cut      bool // by a test
	struck   int  // how many faults cut it
	held     bool
	waiting  []*moment.Moment // of connections; they go on when the way is released
	packets  []*moment.Moment // of datagrams
	Latency  time.Duration    // 0: that of the profile
	Extra    time.Duration    // of a fault, beyond that
	Loss     float64          // negative: that of the profile
	busy     int64            // until when it sends, with a limited bandwidth
	delays   *choice.Source   // of messages
	faults   *choice.Source   // which messages are lost, doubled and overtaken
}

// Back returns the way in the other direction.
func (l *Way) Back() *Way {
	if l.reverse == nil {
		l.reverse = l.net.Between(l.to, l.from)
	}
	return l.reverse
}

// Hold keeps messages on the way until release; none is lost.
func (l *Way) Hold() {
	l.net.log(record.Struck, l.from, l.to, "hold", 0)
	l.held = true
}

// Release delivers what hold kept.
func (l *Way) Release() {
	if !l.held {
		return
	}
	w := l.net
	w.log(record.Struck, l.from, l.to, "release", 0)
	l.held = false
	waiting, packets := l.waiting, l.packets
	l.waiting, l.packets = nil, nil
	for _, m := range append(waiting, packets...) {
		w.in(m, 0)
	}
}

// Reset breaks the connections between the two hosts.
func (l *Way) Reset() {
	l.net.log(record.Struck, l.from, l.to, "reset", 0)
	for _, h := range [2]*Node{l.from, l.to} {
		if h.stack == nil {
			continue
		}
		for _, s := range slices.Clone(h.stack.sockets) {
			s.sever(l.from, l.to)
		}
	}
}

// Passes reports whether a message that arrives now gets through.
func (l *Way) Passes() bool { return !l.Cut && l.struck == 0 && l.to.Up }

// A Strike is the cut of a way by one fault. The way passes again when all have ended.
type Strike struct {
	way   *Way
	heals int // how often all cuts had been ended before
}

// Strike cuts the way.
func (l *Way) Strike() Strike {
	l.struck++
	return Strike{l, l.net.heals}
}

// End ends the cut, unless Heal has.
func (s Strike) End() {
	if s.heals == s.way.net.heals {
		s.way.struck--
	}
}

// delay returns how long a message of so many bytes takes.
func (l *Way) delay(size int) time.Duration {
	w := l.net
	if l.from == l.to {
		return loopback
	}
	p := &w.Profile
	d := p.Latency
	if l.Latency > 0 {
		d = l.Latency
	}
	extra := l.Extra + time.Duration(l.delays.Draw(func(random uint64) uint64 {
		extra := choice.Scale(random, uint64(p.Jitter)+1)
		if p.Tail > 0 && random&1023 == 0 {
			extra += choice.Scale(choice.Mix(random), uint64(p.Tail))
		}
		return extra
	})&(1<<40-1))
	if p.Bandwidth > 0 {
		begin := max(l.busy, w.clock())
		l.busy = begin + int64(size)*int64(time.Second)/int64(p.Bandwidth)
		extra += time.Duration(l.busy - w.clock())
	}
	return time.Duration(moment.After(int64(d), extra))
}

// loopback is how long a message takes within a host.
const loopback = 20 * time.Microsecond

// lost reports whether a message is lost on the way.
func (l *Way) lost() bool {
	loss := l.Loss
	if loss < 0 {
		loss = l.net.Profile.PacketLoss
	}
	if l.from == l.to || loss == 0 || l.net.calm {
		return false
	}
	lost := l.faults.Rarely(int(loss * 1e6))
	if lost {
		l.say("was lost")
	}
	return lost
}

// corrupt flips a bit of a message, if it arrives with a wrong one.
func (l *Way) corrupt(p []byte) {
	part := l.net.Profile.Corrupt
	if l.from == l.to || part == 0 || l.net.calm || len(p) == 0 {
		return
	}
	bits := uint64(len(p)) * 8
	v := l.faults.Draw(func(random uint64) uint64 {
		if choice.Scale(random, 1e6) >= uint64(part*1e6) {
			return 0
		}
		return 1 + choice.Scale(choice.Mix(random), bits)
	})
	if v == 0 {
		return
	}
	at := min(v, bits) - 1
	l.say(fmt.Sprintf("came with a wrong bit: %d of byte %d", at%8, at/8))
	p[at/8] ^= 1 << (at % 8)
}

// say says what was chosen for the message that is on its way.
func (l *Way) say(what string) {
	l.faults.Say(func(host func(number uint64) string) string {
		return fmt.Sprintf("a message from %s to %s %s", host(l.from.Number), host(l.to.Number), what)
	})
}
