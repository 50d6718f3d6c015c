package sim

// A test cuts, slows and heals the links of a cluster.

import (
	"time"

	"github.com/rondo-go/rondo/sim/internal/network"
	"github.com/rondo-go/rondo/sim/internal/record"
)

// A Link is the way from one host to another. Its methods never suspend. They may be
// called by tasks of any host of the World.
type Link struct {
	world *World
	way   *network.Way
}

// Link returns the way from one host to another.
func (w *World) Link(from, to *Host) *Link {
	w.own("Link", from, to)
	way := w.way(from, to)
	l := w.links[way]
	if l == nil {
		l = &Link{world: w, way: way}
		w.links[way] = l
	}
	return l
}

// way returns the way from one host to another.
func (w *World) way(from, to *Host) *network.Way { return w.net.Between(from.node, to.node) }

// own panics unless all hosts are those of w.
func (w *World) own(call string, hosts ...*Host) {
	for _, h := range hosts {
		if h == nil || h.world != w {
			panic("sim: World." + call + " with a host that is nil, or of another run: use what World.Host has returned in this one")
		}
	}
}

// SetLatency sets the time that a message takes at least. 0 means the value of Config.Network.
func (l *Link) SetLatency(d time.Duration) {
	if !l.world.inert() {
		l.way.Latency = max(0, d)
	}
}

// SetLoss sets the fraction of messages that are lost, from 0 to 1. TCP sends again what was
// lost, so a connection only becomes slow; World.Cut keeps everything from arriving.
func (l *Link) SetLoss(part float64) {
	if !l.world.inert() {
		l.way.Loss = min(max(0, part), 1)
	}
}

// Hold keeps messages on the link until Release; none is lost.
func (l *Link) Hold() {
	if !l.world.inert() {
		l.way.Hold()
	}
}

// Release delivers what Hold kept.
func (l *Link) Release() {
	if !l.world.inert() {
		l.way.Release()
	}
}

// Reset breaks the connections between the two hosts: both ends get
// syscall.ECONNRESET.
func (l *Link) Reset() {
	if !l.world.inert() {
		l.way.Reset()
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
				w.way(from, to).Cut, w.way(to, from).Cut = true, true
			}
		}
	}
	for _, h := range a {
		w.log(record.Struck, h, nil, "partition", len(b))
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
	w.log(record.Struck, from, to, "cut", 0)
	w.way(from, to).Cut = true
}

// Heal ends all partitions and cuts. Lost messages stay lost. TCP sends its lost data again when
// its next attempt is due, which after a long partition may take minutes.
func (w *World) Heal() {
	if w.inert() {
		return
	}
	w.log(record.Struck, w.test, nil, "heal", 0)
	w.net.Heal()
}
