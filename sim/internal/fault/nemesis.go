// Package fault makes faults strike the hosts of a cluster, when the seed says so.
//
// The law: a fault is tied to an event of the host that it strikes, such as the fifth message
// there, and strikes some time after that. So when a failure is shrunk, a fault stays where it
// was in the story, although everything takes less time.
//
// To add a kind of fault, name it in package choice (strike.go), let strike do it here, and give
// its rate a field in sim.Faults.
package fault

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/disk"
	"github.com/rondo-go/rondo/sim/internal/moment"
	"github.com/rondo-go/rondo/sim/internal/network"
)

// Rates says how often each kind of fault strikes in a second of virtual time.
type Rates [choice.Faults]float64

// A Host is a machine that faults strike.
type Host interface {
	Up() bool // the program runs
	Crash()
	PowerFail()
	Restart()
	Pause(d time.Duration)
	SetClock(offset time.Duration, ppm int)
}

// A Target is a Host with what the nemesis must know of it.
type Target struct {
	Host
	Number uint64
	Node   *network.Node
	Disk   *disk.Disk
	Clock  func() (offset time.Duration, ppm int) // of SetClock

	events  uint32 // how many events it has had
	eventAt int64  // the instant of the last one
	strikes uint64 // how many faults are tied to the last one
}

// A World is the cluster in which faults strike.
type World interface {
	// Now returns the instant of the cluster's clock.
	Now() int64

	// Quiet reports whether no fault may strike any more.
	Quiet() bool

	// Deadlock is called when nothing can happen any more but faults. It ends the run.
	Deadlock()

	// Struck is called with each fault of the network.
	Struck(node *network.Node, what string, n int)
}

// A Nemesis makes faults strike.
type Nemesis struct {
	world   World
	choices *choice.Choices
	moments *moment.Heap
	net     *network.Net
	targets []*Target
	maxDown int // 0: the lesser half
	moment  moment.Moment
	rates   Rates // of this run
	total   float64
	every   time.Duration
	draws   uint32 // how often it has asked whether a fault strikes
	cures   []*cure
	armed   []trap
	listed  bool // the faults are in a list
	alone   int  // how often in a row nothing else could happen

	disks    int   // how likely a change of a disk is to be the last one, in millionths
	diskNext int64 // before that no host fails there
}

// A trap is a fault that strikes after the next event of a host.
type trap struct {
	host  *Target
	value uint64
}

// aloneMost is how often in a row nothing else happens before that is a deadlock.
const aloneMost = 1000

// New returns the nemesis of a run in which c chooses.
func New(w World, c *choice.Choices, m *moment.Heap, net *network.Net, rates Rates, maxDown int) *Nemesis {
	n := &Nemesis{world: w, choices: c, moments: m, net: net, maxDown: maxDown}
	n.moment.What = n
	if net.Profile.Calm {
		return n
	}
	mask := c.Config(choice.ConfigFaults)
	for i, r := range rates {
		if mask>>i&1 == 0 || mask>>8%4 == 0 {
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
	n.every = max(time.Millisecond, time.Duration(float64(time.Second)/n.total/4))
	n.in(&n.moment, n.every)
	return n
}

// Add adds a host that faults may strike.
func (n *Nemesis) Add(t Target) *Target {
	t.eventAt = n.world.Now()
	n.targets = append(n.targets, &t)
	return &t
}

// Strikes reports whether faults strike in this run.
func (n *Nemesis) Strikes() bool { return n.total > 0 }

// Calm forgets the faults that have not ended. The caller ends them.
func (n *Nemesis) Calm() {
	for _, c := range n.cures {
		n.moments.Drop(&c.moment)
	}
	n.cures = nil
}

// in makes m happen after d.
func (n *Nemesis) in(m *moment.Moment, d time.Duration) { n.moments.Put(m, n.world.Now()+int64(d)) }

// Happen is called at regular moments.
func (n *Nemesis) Happen() {
	if n.world.Quiet() {
		return
	}
	if m, _ := n.moments.First(); m != nil {
		n.alone = 0
	} else if n.alone++; n.alone > aloneMost {
		n.world.Deadlock()
		return
	}
	n.in(&n.moment, n.every)
	random := n.choices.Bits(choice.Key{Purpose: choice.ForFault, Ordinal: n.draws})
	n.draws++
	v := n.choose(random)
	h := n.victim(v)
	if v == 0 || h == nil {
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
	if h == nil {
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
	if n.listed {
		for i := range uint64(strikesMost) {
			if v := n.choices.Given[faultKey(h, i)]; v != 0 {
				h.strikes = i
				n.plan(h, v)
			}
		}
	}
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
	if n.world.Quiet() {
		return
	}
	n.choices.Note(s.key, s.value)
	n.strike(s.host, s.value)
}

// DiskChanges is called before a host changes its disk: it may crash or lose power just
// there, between two writes or in the middle of a Sync, which faults at other moments
// would hardly ever find.
func (n *Nemesis) DiskChanges(h *Target) {
	if h == nil {
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

// strike makes the fault v strike a host.
func (n *Nemesis) strike(h *Target, v uint64) {
	kind, how := choice.Fault(v&choice.KindBits-1), int(v>>choice.HowShift&0xff)
	switch kind {
	case choice.Partition:
		n.partition(h, how, howLong(v, 10*time.Second))
	case choice.Crash, choice.PowerFail:
		n.bringDown(h, kind, v)
	case choice.Pause:
		d := howLong(v, 3*time.Second)
		n.say(h, "%s stood still"+n.span(d))
		h.Pause(d)
	case choice.ClockSkew:
		length := time.Duration(v >> choice.LongShift & 0xffff)
		offset, ppm := h.Clock()
		if how&1 == 0 {
			rate := int(length)%1001 - 500
			n.say(h, fmt.Sprintf("the clock of %%s runs at a rate of %+d ppm from then on", rate))
			h.SetClock(offset, rate)
		} else {
			jump := 10 * time.Second * (length - 1<<15) >> 15
			n.say(h, fmt.Sprintf("the clock of %%s jumped by %v", jump))
			h.SetClock(offset+jump, ppm)
		}
	case choice.DiskFault:
		h.Disk.Fault = disk.Fault(1 + how%2)
		d := howLong(v, 2*time.Second)
		if h.Disk.Fault == disk.Full {
			n.say(h, "the disk of %s was full"+n.span(d))
		} else {
			n.say(h, "the disk of %s failed"+n.span(d))
		}
		n.cure(d, func() { h.Disk.Fault = disk.Well })
	}
}

// howLong returns how long the fault v lasts: anything up to most in one half of all
// cases, and in the other as often some milliseconds as some seconds.
func howLong(v uint64, most time.Duration) time.Duration {
	length := v >> choice.LongShift & 0xffff
	if length&1 == 0 {
		most >>= length >> 1 % 13
	}
	return time.Millisecond + most*time.Duration(length)>>16
}

// bringDown makes a host crash, or lose its power, until it is restarted.
func (n *Nemesis) bringDown(h *Target, kind choice.Fault, v uint64) {
	if !h.Up() || n.down() >= n.downMost() {
		n.say(h, "a fault of %s changed nothing, because it was down, or as many others as may be")
		return
	}
	d := howLong(v, 5*time.Second)
	if kind == choice.Crash {
		n.say(h, "%s crashed, and was down"+n.span(d))
		h.Crash()
	} else {
		n.say(h, "%s lost power, and was down"+n.span(d))
		h.PowerFail()
	}
	n.cure(d, func() {
		if !h.Up() {
			h.Restart()
		}
	}).host = h
}

// partition cuts some of the hosts off: one, or a random part.
func (n *Nemesis) partition(h *Target, how int, d time.Duration) {
	hosts := n.targets
	whom := slices.Index(hosts, h)
	most := min(n.downMost()-n.down(), len(hosts)-1)
	if most <= 0 {
		n.say(h, "a partition around %s changed nothing, because as many were down as may be")
		return
	}
	size := 1
	if how&1 != 0 {
		size = 1 + how>>3%most
	}
	var some []*Target
	for i := range size {
		some = append(some, hosts[(whom+i)%len(hosts)])
	}
	n.choices.Say(func(host func(number uint64) string) string {
		return partitioned(some, hosts, how>>1&3, host) + n.span(d)
	})
	var cut []*network.Way
	for _, from := range some {
		for _, to := range hosts {
			if slices.Contains(some, to) {
				continue
			}
			for i, l := range []*network.Way{n.net.Between(from.Node, to.Node), n.net.Between(to.Node, from.Node)} {
				if how>>1&3 != i+1 && !l.Struck {
					l.Struck = true
					cut = append(cut, l)
				}
			}
		}
		n.world.Struck(from.Node, "partition", how>>1&3)
	}
	n.cure(d, func() {
		for _, l := range cut {
			l.Struck = false
		}
		n.world.Struck(some[0].Node, "heal", len(cut))
	}).cutOff = size
}

// partitioned says which hosts a partition in a direction keeps from which.
func partitioned(some, hosts []*Target, direction int, host func(number uint64) string) string {
	names := func(of []*Target) string {
		var all []string
		for _, h := range of {
			all = append(all, host(h.Number))
		}
		return strings.Join(all, ", ")
	}
	var others []*Target
	for _, h := range hosts {
		if !slices.Contains(some, h) {
			others = append(others, h)
		}
	}
	a, b := names(some), names(others)
	switch direction {
	case 1:
		return fmt.Sprintf("a partition lost what %s sent to %s", b, a)
	case 2:
		return fmt.Sprintf("a partition lost what %s sent to %s", a, b)
	}
	return fmt.Sprintf("a partition cut %s off from %s in both directions", a, b)
}

// say gives the fault that strikes h its words: a format with the place of the host's name.
func (n *Nemesis) say(h *Target, format string) {
	n.choices.Say(func(host func(number uint64) string) string { return fmt.Sprintf(format, host(h.Number)) })
}

// span says how long something lasts from now on, and until when.
func (n *Nemesis) span(d time.Duration) string {
	return fmt.Sprintf(" for %v, until %v", d, time.Duration(n.world.Now()-moment.Origin)+d)
}

// downMost returns how many hosts may be down or cut off at once.
func (n *Nemesis) downMost() int {
	if n.maxDown > 0 {
		return n.maxDown
	}
	return max(1, (len(n.targets)-1)/2)
}

// down returns how many are.
func (n *Nemesis) down() (k int) {
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
	moment  moment.Moment
	nemesis *Nemesis
	do      func()
	host    *Target // that is down
	cutOff  int     // how many hosts are cut off
}

func (n *Nemesis) cure(d time.Duration, do func()) *cure {
	c := &cure{nemesis: n, do: do}
	c.moment.What = c
	n.cures = append(n.cures, c)
	n.in(&c.moment, d)
	return c
}

func (c *cure) Happen() {
	n := c.nemesis
	for i, o := range n.cures {
		if o == c {
			n.cures = append(n.cures[:i], n.cures[i+1:]...)
			break
		}
	}
	c.do()
}
