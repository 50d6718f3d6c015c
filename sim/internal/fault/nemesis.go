// Package fault makes faults strike the hosts of a cluster, when the seed says so.
//
// The law: a fault is tied to an event of the host that it strikes, such as the fifth message
// there, and strikes some time after that. So when a failure is shrunk, a fault stays where it
// was in the story, although everything takes less time.
//
// To add a kind of fault, name it in package choice (strike.go), let strike.go do it, and give
// its rate a field in sim.Faults.
package fault

import (
	"math"
	"slices"
	"time"

	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/moment"
	"github.com/rondo-go/rondo/sim/internal/network"
)

// aloneMost is how often in a row nothing else happens before that may be a deadlock.
const aloneMost = 1000

// New returns the nemesis of a run in which c chooses.
func New(w World, c *choice.Choices, m *moment.Heap, net *network.Net, of Settings) *Nemesis {
	n := &Nemesis{world: w, choices: c, moments: m, net: net, maxDown: of.MaxDown, longest: of.Longest}
	n.moment.What = n
	if net.Profile.Calm {
		return n
	}
	mask := c.Config(choice.ConfigFaults)
	kinds := mask&0x3f | choice.Mix(mask)<<6
	for i, r := range of.Rates {
		if kinds>>i&1 == 0 || mask>>8%4 == 0 {
			n.rates[i] = r
			n.total += r
		}
	}
	if n.total == 0 {
		return n
	}
	if n.rates[choice.Crash]+n.rates[choice.PowerFail] > 0 {
		n.disks = [...]int{0, 10_000, 50_000, 200_000}[mask>>16%4]
	}
	if n.listed = c.Given != nil; n.listed {
		return n
	}
	n.every = max(time.Millisecond, time.Duration(min(float64(time.Second)/n.total/4, math.MaxInt64/2)))
	n.in(&n.moment, n.every)
	return n
}

// Add adds a host that faults may strike.
func (n *Nemesis) Add(t Target) *Target {
	t.eventAt = n.world.Now()
	n.targets = append(n.targets, &t)
	return &t
}

// Spare keeps faults from a host from now on.
func (n *Nemesis) Spare(t *Target) {
	t.spared = true
	n.targets = slices.DeleteFunc(n.targets, func(o *Target) bool { return o == t })
	n.armed = slices.DeleteFunc(n.armed, func(o trap) bool { return o.host == t })
}

// Strikes reports whether faults strike in this run.
func (n *Nemesis) Strikes() bool { return n.total > 0 }

// Calm forgets the faults that have not ended. The caller ends them.
func (n *Nemesis) Calm() {
	for _, c := range n.cures {
		n.moments.Drop(&c.moment)
	}
	n.cures = nil
	for _, h := range n.targets {
		h.struck = [states]int{}
	}
}

// Happen is called at regular moments.
func (n *Nemesis) Happen() {
	if n.world.Quiet() {
		return
	}
	if m, _ := n.moments.First(); m != nil {
		n.alone = 0
	} else if n.alone++; n.alone > aloneMost && n.world.Deadlock() {
		return
	}
	n.in(&n.moment, n.every)
	random := n.choices.Bits(choice.Key{Purpose: choice.ForFault, Ordinal: n.draws})
	n.draws++
	v := n.choose(random)
	h := n.victim(v)
	if v == 0 || h == nil || !n.choices.Keeps(choice.Key{Purpose: choice.ForFault, Ordinal: n.draws}) {
		return
	}
	random = choice.Mix(random + 2)
	var delay time.Duration
	if random&3 != 0 {
		delay = time.Duration(random>>2&0x3ff) << (random >> 12 % 21) // up to a second
	}
	if random>>20&1 == 0 {
		n.armed = append(n.armed, trap{h, v | choice.PackDelay(delay)<<choice.DelayShift})
		return
	}
	n.plan(h, v|choice.PackDelay(time.Duration(n.world.Now()-h.eventAt)+delay)<<choice.DelayShift)
}

// Event is called when something happens on a host: a message leaves or arrives, it
// boots, or it changes its disk.
func (n *Nemesis) Event(h *Target) {
	if h == nil || h.spared {
		return // of the test
	}
	h.events++
	h.eventAt, h.strikes = n.world.Now(), 0
	for i := 0; i < len(n.armed); i++ {
		if t := n.armed[i]; t.host == h {
			n.armed = append(n.armed[:i], n.armed[i+1:]...)
			n.plan(h, t.value)
			i--
		}
	}
	if h.events == 1 && !n.listed && n.rates[choice.ClockSkew] > 0 && n.choices.Keeps(driftKey(h)) {
		n.plan(h, n.drift(h))
	}
	if n.listed {
		for i := range uint64(strikesMost) {
			if v := n.choices.Given[faultKey(h, i)]; v != 0 {
				h.strikes = i
				n.plan(h, v)
			}
		}
	}
}

// drift returns the fault that gives a host the rate of its clock when it boots first: no two
// machines have the same.
func (n *Nemesis) drift(h *Target) uint64 {
	return uint64(choice.ClockSkew) + 1 | n.choices.Bits(driftKey(h))>>48<<choice.LongShift
}

// driftKey returns the key from which the rate of a clock is drawn.
func driftKey(h *Target) choice.Key {
	return choice.Key{Purpose: choice.ForFault, Place: choice.DriftPlace | h.Number}
}

// strikesMost is how many faults are tied to one event.
const strikesMost = 8

// faultKey returns the key of one of the faults that are tied to the last event of a host.
func faultKey(h *Target, i uint64) choice.Key {
	return choice.Key{Purpose: choice.ForFault, Place: h.Number<<8 | i, Ordinal: h.events}
}

// A strike is a fault that is about to strike.
type strike struct {
	moment  moment.Moment
	nemesis *Nemesis
	host    *Target // whom it strikes
	key     choice.Key
	value   uint64
}

// plan makes the fault v strike some time after the last event of a host.
func (n *Nemesis) plan(h *Target, v uint64) {
	if h.strikes == strikesMost {
		return
	}
	s := &strike{nemesis: n, host: h, key: faultKey(h, h.strikes), value: v}
	h.strikes++
	s.moment.What = s
	n.moments.Put(&s.moment, h.eventAt+int64(choice.UnpackDelay(v>>choice.DelayShift)))
}

func (s *strike) Happen() {
	n := s.nemesis
	if n.world.Quiet() || s.host.spared {
		return
	}
	n.choices.Note(s.key, s.value)
	n.strike(s.host, s.value)
}

// DiskChanges is called before a host changes its disk: it may crash or lose power just
// there, between two writes or in the middle of a Sync, which faults at other moments
// would hardly ever find.
func (n *Nemesis) DiskChanges(h *Target) {
	if h == nil || h.spared {
		return
	}
	n.Event(h)
	if n.world.Quiet() || n.world.Now() < n.diskNext || n.disks == 0 {
		return
	}
	v := n.choices.At(choice.ForFault, choice.DiskPlace|h.Number<<8).Draw(func(random uint64) uint64 {
		if choice.Scale(random, 1e6) >= uint64(n.disks) {
			return 0
		}
		kind := choice.Crash
		if both := n.rates[choice.Crash] + n.rates[choice.PowerFail]; float64(choice.Mix(random)>>40)/(1<<24)*both >= n.rates[choice.Crash] {
			kind = choice.PowerFail
		}
		return uint64(kind) + 1 | choice.Mix(random+1)>>48<<choice.LongShift
	})
	if kind := choice.Fault(v&choice.KindBits - 1); v != 0 && (kind == choice.Crash || kind == choice.PowerFail) {
		n.diskNext = n.world.Now() + int64(float64(time.Second)/max(n.rates[choice.Crash]+n.rates[choice.PowerFail], 0.1))
		n.bringDown(h, kind, v)
	}
}

// choose makes a fault of random bits.
func (n *Nemesis) choose(random uint64) uint64 {
	at := float64(random>>40) / (1 << 24) / (n.total * n.every.Seconds()) * n.total
	for i, r := range n.rates {
		if at -= r; at < 0 {
			return uint64(i) + 1 | choice.Mix(random)>>24<<choice.WhomShift
		}
	}
	return 0
}

// victim returns the host that the fault v strikes, or nil.
func (n *Nemesis) victim(v uint64) *Target {
	if len(n.targets) == 0 {
		return nil
	}
	return n.targets[int(v>>choice.WhomShift&0xffff)%len(n.targets)]
}
