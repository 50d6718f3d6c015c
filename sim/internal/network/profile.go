package network

import (
	"time"

	"github.com/rondo-go/rondo/sim/internal/choice"
)

// Conditions says how the links between hosts are. The fields are those of sim.Network.
type Conditions struct {
	Latency    time.Duration
	Jitter     time.Duration
	Tail       time.Duration
	Bandwidth  int
	Buffer     int
	ShortReads float64
	PacketLoss float64
	Reorder    float64
	Duplicate  float64
	Corrupt    float64
}

// A Profile is the conditions of one run.
type Profile struct {
	Conditions
	Calm bool
}

// newProfile returns the conditions of a run. Each seed has one; a part of them is calm.
func newProfile(c *choice.Choices, n Conditions) Profile {
	p := Profile{Conditions: n}
	r := c.Config(choice.ConfigNetwork)
	p.Calm = c.Seed%4 == 1 || c.Walk != nil
	latencies := [...]time.Duration{100 * time.Microsecond, time.Millisecond, 10 * time.Millisecond, 500 * time.Microsecond}
	jitters := [...]time.Duration{50 * time.Microsecond, time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond}
	if p.Latency == 0 {
		p.Latency = latencies[r%4]
	}
	if p.Jitter == 0 {
		if p.Jitter = jitters[r>>2%4]; n.Latency != 0 || p.Calm {
			p.Jitter = p.Latency / 2
		}
	}
	if p.Tail == 0 && !p.Calm && r>>4%2 == 0 {
		p.Tail = 20 * p.Jitter
	}
	if p.Buffer == 0 {
		p.Buffer = 64 << 10 << (r >> 5 % 3)
	}
	if p.ShortReads == 0 && !p.Calm && r>>7%2 == 0 {
		p.ShortReads = 0.1
	}
	return p
}

// settle makes the links quick, as far as the Config leaves that to the seed.
func (p *Profile) settle(n Conditions) {
	if n.Jitter == 0 {
		p.Jitter = min(p.Jitter, p.Latency/2)
	}
	if n.Tail == 0 {
		p.Tail = 0
	}
}
