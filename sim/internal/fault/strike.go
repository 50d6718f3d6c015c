package fault

// What faults do to hosts, disks, clocks and links, and the words for it.
//
// The law: a fault that strikes says what it did, to whom, and until when; one that could do
// nothing says so.

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/moment"
	"github.com/rondo-go/rondo/sim/internal/network"
)

// strike makes the fault v strike a host.
func (n *Nemesis) strike(h *Target, v uint64) {
	kind, how := choice.Fault(v&choice.KindBits-1), int(v>>choice.HowShift&0xff)
	if kind >= choice.Faults {
		return // of a list that is none of this version
	}
	d := howLong(v, n.longest[kind])
	switch kind {
	case choice.Partition:
		n.partition(h, how, d)
	case choice.Crash, choice.PowerFail:
		n.bringDown(h, kind, v)
	case choice.Outage:
		n.outage(h, how, d)
	case choice.Pause:
		n.say(h, "%s stood still"+n.span(d))
		h.Pause(d)
	case choice.ClockSkew:
		n.skew(h, how, v)
	case choice.LinkFault:
		n.link(h, how, int(v>>choice.WhomShift&0xffff), d)
	case choice.Slow:
		n.slow(h, how, d)
	case choice.DiskFault:
		n.failDisk(h, how, v, d)
	case choice.NoDescriptors:
		n.say(h, "%s had no descriptors left"+n.span(d))
		h.Node.NoDescriptors, h.Disk.Faults.NoFiles = true, true
		n.keep(h, noDescriptors, d, func() { h.Node.NoDescriptors, h.Disk.Faults.NoFiles = false, false })
	case choice.WrongNames:
		n.misname(h, how, d)
	default:
		n.damage(h, kind, v, d)
	}
}

// skew sets the clock of a host, or its rate.
func (n *Nemesis) skew(h *Target, how int, v uint64) {
	length := time.Duration(v >> choice.LongShift & 0xffff)
	offset, ppm := h.Clock()
	if how&1 == 0 {
		rate := int(length)%1001 - 500
		n.say(h, fmt.Sprintf("the clock of %%s runs at a rate of %+d ppm from then on", rate))
		h.SetClock(offset, rate)
		return
	}
	jump := time.Duration(float64(n.longest[choice.ClockSkew]) * float64(length-1<<15) / (1 << 15))
	n.say(h, fmt.Sprintf("the clock of %%s jumped by %v", jump))
	h.SetClock(offset+jump, ppm)
}

// failDisk makes a disk fail, be full after some bytes more, or have read errors.
func (n *Nemesis) failDisk(h *Target, how int, v uint64, d time.Duration) {
	f := &h.Disk.Faults
	switch how % 4 {
	case 1, 3:
		f.Full, f.Room = true, 0
		if how&2 != 0 {
			f.Room = how >> 2 * 64
		}
		if f.Room == 0 {
			n.say(h, "the disk of %s was full"+n.span(d))
		} else {
			n.say(h, fmt.Sprintf("the disk of %%s was full after %d bytes more%s", f.Room, n.span(d)))
		}
		n.keep(h, diskFull, d, func() { f.Full = false })
	case 2:
		f.ReadErrors = v
		n.say(h, "one read in four of the disk of %s failed"+n.span(d))
		n.keep(h, readErrors, d, func() { f.ReadErrors = 0 })
	default:
		f.Fails = true
		n.say(h, "the disk of %s failed"+n.span(d))
		n.keep(h, diskFails, d, func() { f.Fails = false })
	}
}

// damage does to a disk what no Sync can prevent. At most as many hosts as may be down at once have
// a disk that was damaged.
func (n *Nemesis) damage(h *Target, kind choice.Fault, v uint64, d time.Duration) {
	if !h.damaged && n.damaged >= n.downMost() {
		n.say(h, "a fault of the disk of %s changed nothing, because as many were damaged as may be")
		return
	}
	f := &h.Disk.Faults
	switch kind {
	case choice.BitRot:
		name, at := h.Disk.Rot(v>>choice.LongShift&0xffff, v>>choice.HowShift)
		if name == "" {
			n.say(h, "a bit that rots on the disk of %s changed nothing, because nothing was synced")
			return
		}
		n.say(h, fmt.Sprintf("bit %d of byte %d of %q on the disk of %%s flipped", v>>choice.HowShift%8, at, name))
		n.world.Struck(h.Node, "bit rot of "+name, int(at))
	case choice.LostWrite:
		f.LostWrites++
		n.say(h, "the disk of %s lost its next write")
	case choice.MisdirectedWrite:
		f.MisdirectedWrites++
		n.say(h, "the next write to the disk of %s went to a wrong place")
	case choice.LyingSync:
		f.LyingSync = true
		n.say(h, "Sync of the disk of %s made nothing certain"+n.span(d))
		n.keep(h, lyingSync, d, func() { f.LyingSync = false })
	case choice.TornRename:
		f.TornNames = true
		n.say(h, "a power failure of %s would tear renames"+n.span(d))
		n.keep(h, tornNames, d, func() { f.TornNames = false })
	}
	if !h.damaged {
		h.damaged = true
		n.damaged++
	}
}

// slow makes the processor of a host slow, or its disk.
func (n *Nemesis) slow(h *Target, how int, d time.Duration) {
	each := time.Millisecond << (how >> 1 % 7)
	if how&1 == 0 {
		n.say(h, fmt.Sprintf("each time %%s had something to do it began %v late%s", each, n.span(d)))
		h.Slow(each)
		n.keep(h, slowProcessor, d, func() { h.Slow(0) })
		return
	}
	n.say(h, fmt.Sprintf("each read, write and Sync of the disk of %%s took %v%s", each, n.span(d)))
	h.Disk.Faults.Slow = each
	n.keep(h, slowDisk, d, func() { h.Disk.Faults.Slow = 0 })
}

// misname makes a host get the address of another host for each name, or none.
func (n *Nemesis) misname(h *Target, how int, d time.Duration) {
	if how&1 == 0 {
		h.Node.Names = network.NoNames
		n.say(h, "%s could resolve no name"+n.span(d))
	} else {
		h.Node.Names = network.WrongNames
		n.say(h, "%s got the address of the next host for each name"+n.span(d))
	}
	n.keep(h, wrongNames, d, func() { h.Node.Names = network.TrueNames })
}

// outage turns off the power of all hosts at once, or of some. A host that another fault has
// brought down stays down until both have ended; a program that has ended by itself does not begin
// again.
func (n *Nemesis) outage(h *Target, how int, d time.Duration) {
	size := len(n.targets)
	if how&1 != 0 {
		size = 1 + how>>1%size
	}
	var some []*Target
	for _, t := range n.following(h, size) {
		if t.Up() || t.struck[down] > 0 {
			some = append(some, t)
		}
	}
	if len(some) == 0 {
		n.say(h, "a loss of power around %s changed nothing, because all were down")
		return
	}
	span := n.span(d)
	n.choices.Say(func(host func(number uint64) string) string {
		return names(some, host) + " lost power at once, and were down" + span
	})
	for _, t := range some {
		t.PowerFail()
		n.keepDown(t, d)
	}
}

// following returns h and the hosts after it, so many in all.
func (n *Nemesis) following(h *Target, size int) (some []*Target) {
	at := max(0, slices.Index(n.targets, h))
	for i := range size {
		some = append(some, n.targets[(at+i)%len(n.targets)])
	}
	return some
}

// link cuts the link between two hosts, makes it flap, or makes it slow. Both still reach the
// others.
func (n *Nemesis) link(h *Target, how, whom int, d time.Duration) {
	others := len(n.targets) - 1
	if others < 1 {
		n.say(h, "a fault of a link of %s changed nothing, because there is no other host")
		return
	}
	other := n.following(h, 2+whom/len(n.targets)%others)
	o := other[len(other)-1]
	there, back := n.net.Between(h.Node, o.Node), n.net.Between(o.Node, h.Node)
	ways, where := []*network.Way{there, back}, "between %s and %s"
	switch how >> 2 & 3 {
	case 1:
		ways, where = ways[:1], "from %s to %s"
	case 2:
		ways, where, h, o = ways[1:], "from %s to %s", o, h
	}
	span := n.span(d)
	say := func(what string) {
		n.choices.Say(func(host func(number uint64) string) string {
			return "the link " + fmt.Sprintf(where, host(h.Number), host(o.Number)) + " " + what + span
		})
	}
	switch how & 3 {
	case 1:
		each := 100 * time.Millisecond << (how >> 4 % 4)
		say(fmt.Sprintf("was cut every other %v", each))
		n.flap(h, ways, each, d)
	case 2:
		extra := 10 * time.Millisecond << (how >> 4 % 8)
		say(fmt.Sprintf("took %v longer", extra))
		for _, l := range ways {
			l.Extra += extra
		}
		n.cure(d, func() {
			for _, l := range ways {
				l.Extra = max(0, l.Extra-extra)
			}
		})
	default:
		say("was cut")
		n.flap(h, ways, d, d)
	}
}

// flap cuts ways, lets them pass again, and so on, each for so long.
func (n *Nemesis) flap(h *Target, ways []*network.Way, each, d time.Duration) {
	var cut []network.Strike
	turn := func() {
		if cut == nil {
			cut = struck(ways)
		} else {
			cut = ended(cut)
		}
		n.world.Struck(h.Node, "link", len(ways))
	}
	turn()
	c := n.cure(min(each, d), func() {
		if cut != nil {
			turn()
		}
	})
	c.every, c.again, c.until = each, turn, moment.After(n.world.Now(), d)
}

// struck cuts ways.
func struck(ways []*network.Way) (cut []network.Strike) {
	for _, l := range ways {
		cut = append(cut, l.Strike())
	}
	return cut
}

// ended ends cuts. It returns nil.
func ended(cut []network.Strike) []network.Strike {
	for _, s := range cut {
		s.End()
	}
	return nil
}

// howLong returns how long the fault v lasts: anything up to most in one half of all
// cases, and in the other as often some milliseconds as some seconds.
func howLong(v uint64, most time.Duration) time.Duration {
	length := v >> choice.LongShift & 0xffff
	if length&1 == 0 {
		most >>= length >> 1 % 13
	}
	high, low := bits.Mul64(uint64(most), length) // a Duration has no room for it
	return time.Duration(moment.After(int64(high<<48|low>>16), time.Millisecond))
}

// bringDown makes a host crash, or lose its power, until it is restarted.
func (n *Nemesis) bringDown(h *Target, kind choice.Fault, v uint64) {
	if !h.Up() || n.down() >= n.downMost() {
		n.say(h, "a fault of %s changed nothing, because it was down, or as many others as may be")
		return
	}
	d := howLong(v, n.longest[kind])
	if kind == choice.Crash {
		n.say(h, "%s crashed, and was down"+n.span(d))
		h.Crash()
	} else {
		n.say(h, "%s lost power, and was down"+n.span(d))
		h.PowerFail()
	}
	n.keepDown(h, d)
}

// keepDown keeps a host down for d.
func (n *Nemesis) keepDown(h *Target, d time.Duration) {
	n.keep(h, down, d, func() {
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
	var cut []network.Strike
	for _, from := range some {
		for _, to := range hosts {
			if slices.Contains(some, to) {
				continue
			}
			for i, l := range []*network.Way{n.net.Between(from.Node, to.Node), n.net.Between(to.Node, from.Node)} {
				if how>>1&3 != i+1 {
					cut = append(cut, l.Strike())
				}
			}
		}
		n.world.Struck(from.Node, "partition", how>>1&3)
	}
	n.cure(d, func() {
		ended(cut)
		n.world.Struck(some[0].Node, "heal", len(cut))
	}).cutOff = size
}

// partitioned says which hosts a partition in a direction keeps from which.
func partitioned(some, hosts []*Target, direction int, host func(number uint64) string) string {
	var others []*Target
	for _, h := range hosts {
		if !slices.Contains(some, h) {
			others = append(others, h)
		}
	}
	a, b := names(some, host), names(others, host)
	switch direction {
	case 1:
		return fmt.Sprintf("a partition lost what %s sent to %s", b, a)
	case 2:
		return fmt.Sprintf("a partition lost what %s sent to %s", a, b)
	}
	return fmt.Sprintf("a partition cut %s off from %s in both directions", a, b)
}

// names lists hosts.
func names(of []*Target, host func(number uint64) string) string {
	var all []string
	for _, h := range of {
		all = append(all, host(h.Number))
	}
	return strings.Join(all, ", ")
}

// say gives the fault that strikes h its words: a format with the place of the host's name.
func (n *Nemesis) say(h *Target, format string) {
	n.choices.Say(func(host func(number uint64) string) string { return fmt.Sprintf(format, host(h.Number)) })
}

// span says how long something lasts from now on, and until when.
func (n *Nemesis) span(d time.Duration) string {
	return fmt.Sprintf(" for %v, until %v", d, time.Duration(n.world.Now()-moment.Origin)+d)
}
