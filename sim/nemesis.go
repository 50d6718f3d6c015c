package sim

// This file has the nemesis, which makes faults strike.
//
// The law: a fault is tied to an event of the host that it strikes, such as the fifth
// message there, and strikes some time after that. So when a failure is shrunk, a fault
// stays where it was in the story, although everything takes less time.

import (
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/rondo-go/rondo"
)

// A nemesis makes faults strike.
type nemesis struct {
	world  *World
	moment moment
	rates  [faults]float64 // of this run
	total  float64
	every  time.Duration
	draws  uint32 // how often it has asked whether a fault strikes
	cures  []*cure
	armed  []trap
	listed bool // the faults are in a list
	alone  int  // how often in a row nothing else could happen

	disks    int   // how likely a change of a disk is to be the last one, in millionths
	diskNext int64 // before that no host fails there
}

// A trap is a fault that strikes after the next event of a host.
type trap struct {
	host  *Host
	value uint64
}

// The value of a fault, from its lowest bits: the kind, which is 1 and more; whom it
// strikes; for how long; in which way; and how long after the event it strikes.
const (
	kindBits   = 0xff
	whomShift  = 8
	longShift  = 24
	howShift   = 40
	delayShift = 48
)

// aloneMost is how often in a row nothing else happens before that is a deadlock.
const aloneMost = 1000

// begin sets up the faults of a run.
func (n *nemesis) begin(w *World) {
	n.world = w
	n.moment.what = n
	if w.profile.calm {
		return
	}
	mask := w.run.choices.config(configFaults)
	for i, r := range w.config.Faults.rates() {
		if mask>>i&1 == 0 || mask>>8%4 == 0 {
			n.rates[i] = r
			n.total += r
		}
	}
	if n.total == 0 {
		return
	}
	if n.rates[faultCrash]+n.rates[faultPowerFail] > 0 {
		n.disks = [...]int{0, 10_000, 50_000, 200_000}[mask>>16%4]
	}
	if n.listed = w.run.choices.given != nil; n.listed {
		return
	}
	n.every = max(time.Millisecond, time.Duration(float64(time.Second)/n.total/4))
	w.in(&n.moment, n.every)
}

// happen is called at regular moments.
func (n *nemesis) happen() {
	w := n.world
	if w.calm || w.ending {
		return
	}
	if w.moments.first() != nil {
		n.alone = 0
	} else if n.alone++; n.alone > aloneMost {
		w.fail(outcome{err: fmt.Errorf("%w: nothing can run on any host, and nothing but faults will happen:%s", rondo.ErrDeadlock, w.tasks())})
		return
	}
	w.in(&n.moment, n.every)
	random := w.run.choices.bits(key{purpose: forFault, ordinal: n.draws})
	n.draws++
	v := n.choose(random)
	h := n.victim(v)
	if v == 0 || h == nil {
		return
	}
	random = mix(random + 2)
	var delay time.Duration
	if random&3 != 0 {
		delay = time.Duration(random>>2&0x3ff) << (random >> 12 % 21) // up to a second
	}
	if random>>20&1 == 0 {
		n.armed = append(n.armed, trap{h, v | delayed16(delay)<<delayShift})
		return
	}
	n.plan(h, v|delayed16(time.Duration(w.base.now-h.eventAt)+delay)<<delayShift)
}

// delayed16 writes a time in 16 bits: ten for a number, and six for how far it is
// shifted. It rounds up. timeOf is the reverse.
func delayed16(d time.Duration) uint64 {
	shift := max(0, bits.Len64(uint64(d))-10)
	n := (uint64(d) + 1<<shift - 1) >> shift
	if n == 1<<10 {
		n, shift = n>>1, shift+1
	}
	return n<<6 | uint64(shift)
}

func timeOf(v uint64) time.Duration { return time.Duration(v>>6) << min(v&63, 40) }

// event is called when something happens on a host: a message leaves or arrives, it
// boots, or it changes its disk.
func (n *nemesis) event(h *Host) {
	h.events++
	h.eventAt, h.strikes = n.world.base.now, 0
	for i := 0; i < len(n.armed); i++ {
		if t := n.armed[i]; t.host == h {
			n.armed = append(n.armed[:i], n.armed[i+1:]...)
			n.plan(h, t.value)
			i--
		}
	}
	if n.listed {
		for i := range uint64(strikesMost) {
			if v := n.world.run.choices.given[faultKey(h, i)]; v != 0 {
				h.strikes = i
				n.plan(h, v)
			}
		}
	}
}

// strikesMost is how many faults are tied to one event.
const strikesMost = 8

// faultKey returns the key of one of the faults that are tied to the last event of a host.
func faultKey(h *Host, i uint64) key {
	return key{purpose: forFault, place: h.number<<8 | i, ordinal: h.events}
}

// A strike is a fault that is about to strike.
type strike struct {
	moment  moment
	nemesis *nemesis
	host    *Host // whom it strikes
	key     key
	value   uint64
}

// plan makes the fault v strike some time after the last event of a host.
func (n *nemesis) plan(h *Host, v uint64) {
	if h.strikes == strikesMost {
		return
	}
	s := &strike{nemesis: n, host: h, key: faultKey(h, h.strikes), value: v}
	h.strikes++
	s.moment.what = s
	n.world.moments.put(&s.moment, h.eventAt+int64(timeOf(v>>delayShift)))
}

func (s *strike) happen() {
	w := s.nemesis.world
	if w.calm || w.ending {
		return
	}
	w.run.choices.note(s.key, s.value)
	s.nemesis.strike(s.host, s.value)
}

// strikeDisk is called before a host changes its disk: it may crash or lose power just
// there, between two writes or in the middle of a Sync, which faults at other moments
// would hardly ever find.
func (n *nemesis) strikeDisk(p *process) {
	w, h := n.world, p.host
	if p != w.running {
		return
	}
	n.event(h)
	if w.calm || w.ending || h == w.test || w.base.now < n.diskNext || n.disks == 0 {
		return
	}
	v := w.run.choices.at(forFault, diskPlace|h.number<<8).draw(func(random uint64) uint64 {
		if scale(random, 1e6) >= uint64(n.disks) {
			return 0
		}
		kind := faultCrash
		if both := n.rates[faultCrash] + n.rates[faultPowerFail]; float64(mix(random)>>40)/(1<<24)*both >= n.rates[faultCrash] {
			kind = faultPowerFail
		}
		return uint64(kind) + 1 | mix(random+1)>>48<<longShift
	})
	if kind := fault(v&kindBits - 1); v != 0 && (kind == faultCrash || kind == faultPowerFail) {
		n.diskNext = w.base.now + int64(float64(time.Second)/max(n.rates[faultCrash]+n.rates[faultPowerFail], 0.1))
		n.bringDown(h, kind, v)
	}
}

// diskPlace is a part of the places of the faults that strike when a disk is changed.
const diskPlace = 1 << 40

// choose makes a fault of random bits.
func (n *nemesis) choose(random uint64) uint64 {
	at := float64(random>>40) / (1 << 24) / (n.total * n.every.Seconds()) * n.total
	for i, r := range n.rates {
		if at -= r; at < 0 {
			return uint64(i) + 1 | mix(random)>>24<<whomShift
		}
	}
	return 0
}

// victim returns the host that the fault v strikes, or nil.
func (n *nemesis) victim(v uint64) *Host {
	hosts := n.hosts()
	if len(hosts) == 0 {
		return nil
	}
	return hosts[int(v>>whomShift&0xffff)%len(hosts)]
}

// hosts returns the hosts that may fail.
func (n *nemesis) hosts() (hosts []*Host) {
	for _, h := range n.world.hosts {
		if h != n.world.test {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// strike makes the fault v strike a host.
func (n *nemesis) strike(h *Host, v uint64) {
	if h == n.world.test {
		return // of a list that is not of this test
	}
	kind, how := fault(v&kindBits-1), int(v>>howShift&0xff)
	switch kind {
	case faultPartition:
		n.partition(h, how, howLong(v, 10*time.Second))
	case faultCrash, faultPowerFail:
		n.bringDown(h, kind, v)
	case faultPause:
		h.Pause(howLong(v, 3*time.Second))
	case faultClock:
		length := time.Duration(v >> longShift & 0xffff)
		if how&1 == 0 {
			h.SetClock(h.offset, int(length)%1001-500)
		} else {
			h.SetClock(h.offset+10*time.Second*(length-1<<15)>>15, h.ppm)
		}
	case faultDisk:
		h.disk.fault = diskFault(1 + how%2)
		n.cure(howLong(v, 2*time.Second), func() { h.disk.fault = diskWell })
	}
}

// howLong returns how long the fault v lasts: anything up to most in one half of all
// cases, and in the other as often some milliseconds as some seconds.
func howLong(v uint64, most time.Duration) time.Duration {
	length := v >> longShift & 0xffff
	if length&1 == 0 {
		most >>= length >> 1 % 13
	}
	return time.Millisecond + most*time.Duration(length)>>16
}

// bringDown makes a host crash, or lose its power, until it is restarted.
func (n *nemesis) bringDown(h *Host, kind fault, v uint64) {
	if !h.Up() || n.down() >= n.maxDown() {
		return
	}
	if kind == faultCrash {
		h.Crash()
	} else {
		h.PowerFail()
	}
	n.cure(howLong(v, 5*time.Second), func() {
		if !h.Up() {
			h.Restart()
		}
	}).host = h
}

// partition cuts some of the hosts off: one, or a random part.
func (n *nemesis) partition(h *Host, how int, d time.Duration) {
	w, hosts := n.world, n.hosts()
	whom := slices.Index(hosts, h)
	most := min(n.maxDown()-n.down(), len(hosts)-1)
	if most <= 0 {
		return
	}
	size := 1
	if how&1 != 0 {
		size = 1 + how>>3%most
	}
	var some []*Host
	for i := range size {
		some = append(some, hosts[(whom+i)%len(hosts)])
	}
	var cut []*Link
	for _, from := range some {
		for _, to := range w.hosts {
			if contains(some, to) {
				continue
			}
			if to == w.test {
				continue // it never fails
			}
			for i, l := range []*Link{w.linkTo(from, to), w.linkTo(to, from)} {
				if how>>1&3 != i+1 && !l.struck {
					l.struck = true
					cut = append(cut, l)
				}
			}
		}
		w.log(struck, from, nil, "partition", how>>1&3)
	}
	n.cure(d, func() {
		for _, l := range cut {
			l.struck = false
		}
		w.log(struck, some[0], nil, "heal", len(cut))
	}).cutOff = size
}

// maxDown returns how many hosts may be down or cut off at once.
func (n *nemesis) maxDown() int {
	if m := n.world.config.Faults.MaxDown; m > 0 {
		return m
	}
	return max(1, (len(n.world.hosts)-2)/2)
}

// down returns how many are.
func (n *nemesis) down() (k int) {
	for _, c := range n.cures {
		if c.host != nil {
			k++
		}
		k += c.cutOff
	}
	return k
}

// A cure ends a fault.
type cure struct {
	moment  moment
	nemesis *nemesis
	do      func()
	host    *Host // that is down
	cutOff  int   // how many hosts are cut off
}

func (n *nemesis) cure(d time.Duration, do func()) *cure {
	c := &cure{nemesis: n, do: do}
	c.moment.what = c
	n.cures = append(n.cures, c)
	n.world.in(&c.moment, d)
	return c
}

func (c *cure) happen() {
	n := c.nemesis
	for i, o := range n.cures {
		if o == c {
			n.cures = append(n.cures[:i], n.cures[i+1:]...)
			break
		}
	}
	c.do()
}
