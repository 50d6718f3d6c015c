package sim

// This file has Link: the way from one host to another, and what it does to what is
// sent over it.

import (
	"time"
)

// A Network says how the links between hosts are. A zero field is chosen by the seed:
// in some runs all is quiet and fast, in others it is not.
type Network struct {
	Latency    time.Duration // the least that a message takes
	Jitter     time.Duration // the most that it takes beyond that, usually
	Tail       time.Duration // the most that one message in 1,000 takes beyond that
	Bandwidth  int           // bytes a second in each direction of a pair of hosts; 0 means no limit
	Buffer     int           // bytes of a connection in each direction that are on the way or not read; 0 means 64 KiB to 256 KiB
	ShortReads float64       // the part of reads and writes that move less than they could
	PacketLoss float64       // the part of messages that are lost; TCP sends them again
	Reorder    float64       // the part of datagrams that are late, so that others overtake them
	Duplicate  float64       // the part of datagrams that arrive twice
}

// A profile is a Network as a run has it.
type profile struct {
	Network
	calm bool
}

// newProfile returns the network of a run. Each seed has one; a part of them is calm.
func newProfile(c *choices, n Network) profile {
	p := profile{Network: n}
	r := c.config(configNetwork)
	p.calm = c.seed%4 == 1 || c.walk != nil
	latencies := [...]time.Duration{100 * time.Microsecond, time.Millisecond, 10 * time.Millisecond, 500 * time.Microsecond}
	jitters := [...]time.Duration{50 * time.Microsecond, time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond}
	if p.Latency == 0 {
		p.Latency = latencies[r%4]
	}
	if p.Jitter == 0 {
		if p.Jitter = jitters[r>>2%4]; n.Latency != 0 || p.calm {
			p.Jitter = p.Latency / 2
		}
	}
	if p.Tail == 0 && !p.calm && r>>4%2 == 0 {
		p.Tail = 20 * p.Jitter
	}
	if p.Buffer == 0 {
		p.Buffer = 64 << 10 << (r >> 5 % 3)
	}
	if p.ShortReads == 0 && !p.calm && r>>7%2 == 0 {
		p.ShortReads = 0.1
	}
	return p
}

// settle makes the network quick, as far as the Config leaves that to the seed.
func (p *profile) settle(n Network) {
	if n.Jitter == 0 {
		p.Jitter = min(p.Jitter, p.Latency/2)
	}
	if n.Tail == 0 {
		p.Tail = 0
	}
}

// A Link is the way from one host to another. Its methods never suspend. They may be
// called by tasks of any host of the World.
type Link struct {
	from, to *Host
	reverse  *Link // nil until it is asked for
	cut      bool  // by Cut or Partition
	struck   bool  // by a fault
	held     bool
	waiting  []*flow // those that go on when the link is released
	packets  []*packet
	latency  time.Duration // 0: that of the network
	loss     float64       // negative: that of the network
	busy     int64         // until when it sends, with a limited bandwidth
	delays   *source       // nil before the first message
	faults   *source
}

// Link returns the way from one host to another.
func (w *World) Link(from, to *Host) *Link {
	w.own("Link", from, to)
	return w.linkTo(from, to)
}

// own panics unless all hosts are those of w.
func (w *World) own(call string, hosts ...*Host) {
	for _, h := range hosts {
		if h == nil || h.world != w {
			panic("sim: World." + call + " with a host that is nil, or of another run: use what World.Host has returned in this one")
		}
	}
}

func (w *World) linkTo(from, to *Host) *Link {
	if from == to {
		return from.loop
	}
	ends := [2]*Host{from, to}
	l := w.byEnds[ends]
	if l == nil {
		l = &Link{from: from, to: to, loss: -1}
		place := from.number<<16 | to.number
		l.delays, l.faults = w.run.choices.at(forLatency, place), w.run.choices.at(forPacket, place)
		w.byEnds[ends] = l
		w.links = append(w.links, l)
	}
	return l
}

// back returns the link in the other direction.
func (l *Link) back() *Link {
	if l.reverse == nil {
		l.reverse = l.from.world.linkTo(l.to, l.from)
	}
	return l.reverse
}

// SetLatency sets how long a message takes at least. 0 means what Config.Network says.
func (l *Link) SetLatency(d time.Duration) {
	if !l.from.world.inert() {
		l.latency = max(0, d)
	}
}

// SetLoss sets the part of messages that are lost, from 0 to 1.
func (l *Link) SetLoss(part float64) {
	if !l.from.world.inert() {
		l.loss = min(max(0, part), 1)
	}
}

// Hold keeps messages on the link until Release; none is lost.
func (l *Link) Hold() {
	if l.from.world.inert() {
		return
	}
	l.from.world.log(struck, l.from, l.to, "hold", 0)
	l.held = true
}

// Release delivers what Hold kept.
func (l *Link) Release() {
	if !l.held || l.from.world.inert() {
		return
	}
	w := l.from.world
	w.log(struck, l.from, l.to, "release", 0)
	l.held = false
	waiting, packets := l.waiting, l.packets
	l.waiting, l.packets = nil, nil
	for _, f := range waiting {
		w.in(&f.moment, 0)
	}
	for _, p := range packets {
		w.in(&p.moment, 0)
	}
}

// Reset breaks the connections between the two hosts: both ends get
// syscall.ECONNRESET.
func (l *Link) Reset() {
	if l.from.world.inert() {
		return
	}
	l.from.world.log(struck, l.from, l.to, "reset", 0)
	for _, h := range [2]*Host{l.from, l.to} {
		p := h.process
		if p == nil {
			continue
		}
		for _, s := range append([]socket(nil), p.sockets...) {
			if s, ok := s.(*streamSocket); ok && s.peer != nil && (s.remoteHost == l.from || s.remoteHost == l.to) && s.remoteHost != h {
				s.fail(errReset)
			}
		}
	}
}

// Partition cuts all links between the hosts in a and those in b, in both directions.
// If b is empty, it cuts a off from all other hosts. Hosts in a, and those in b, still
// reach each other.
func (w *World) Partition(a, b []*Host) {
	w.own("Partition", a...)
	w.own("Partition", b...)
	if w.inert() {
		return
	}
	for _, from := range a {
		others := b
		if len(b) == 0 {
			others = w.hosts
		}
		for _, to := range others {
			if from != to && (len(b) > 0 || !contains(a, to)) {
				w.linkTo(from, to).cut, w.linkTo(to, from).cut = true, true
			}
		}
	}
	for _, h := range a {
		w.log(struck, h, nil, "partition", len(b))
	}
}

func contains(hosts []*Host, h *Host) bool {
	for _, o := range hosts {
		if o == h {
			return true
		}
	}
	return false
}

// Cut cuts the way from one host to another, and not the way back.
func (w *World) Cut(from, to *Host) {
	w.own("Cut", from, to)
	if w.inert() {
		return
	}
	w.log(struck, from, to, "cut", 0)
	w.linkTo(from, to).cut = true
}

// Heal ends all partitions and cuts. What was lost stays lost; TCP sends its part again
// when the next of its attempts is due, which after a long time may take minutes.
func (w *World) Heal() {
	if w.inert() {
		return
	}
	w.log(struck, nil, nil, "heal", 0)
	for _, l := range w.links {
		l.cut, l.struck = false, false
	}
}

// passes reports whether a message that arrives now gets through.
func (l *Link) passes() bool { return !l.cut && !l.struck && l.to.machine }

// delay returns how long a message of so many bytes takes.
func (l *Link) delay(size int) time.Duration {
	w := l.from.world
	if l.from == l.to {
		return loopback
	}
	p := &w.profile
	d := p.Latency
	if l.latency > 0 {
		d = l.latency
	}
	d += time.Duration(l.delays.draw(func(random uint64) uint64 {
		extra := scale(random, uint64(p.Jitter)+1)
		if p.Tail > 0 && random&1023 == 0 {
			extra += scale(mix(random), uint64(p.Tail))
		}
		return extra
	}) & (1<<40 - 1))
	if p.Bandwidth > 0 {
		begin := max(l.busy, w.base.now)
		l.busy = begin + int64(size)*int64(time.Second)/int64(p.Bandwidth)
		d += time.Duration(l.busy - w.base.now)
	}
	return d
}

// loopback is how long a message takes within a host.
const loopback = 20 * time.Microsecond

// lost reports whether a message is lost on the way.
func (l *Link) lost() bool {
	loss := l.loss
	if loss < 0 {
		loss = l.from.world.profile.PacketLoss
	}
	if l.from == l.to || loss == 0 || l.from.world.calm {
		return false
	}
	return l.faults.rarely(int(loss * 1e6))
}
