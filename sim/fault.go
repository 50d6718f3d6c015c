package sim

// This file has the faults that the seed decides: at regular moments it draws whether
// one strikes, and which. One draw is a whole fault, so shrinking removes faults one by
// one.

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/rondo-go/rondo"
)

// Faults says how often faults strike: how many in a second of virtual time, over the
// whole cluster. A seed has a part of the kinds only, and one in four has none, because
// some mistakes show only when little else happens. The host "test" has no faults.
type Faults struct {
	Partition float64 // some hosts are cut off from the others, in one or both directions, for up to 10 s
	Crash     float64 // a host crashes, and restarts within 5 s
	PowerFail float64 // a host loses power, and restarts within 5 s
	Pause     float64 // a host stands still for up to 3 s
	ClockSkew float64 // a host's clock jumps by up to 10 s, or runs faster or slower by up to 500 ppm
	Disk      float64 // a host's disk fails or is full for up to 2 s
	MaxDown   int     // how many hosts may be down or cut off at once; 0 means the lesser half, and at least one
}

// A fault is a kind of fault.
type fault uint8

const (
	faultPartition fault = iota
	faultCrash
	faultPowerFail
	faultPause
	faultClock
	faultDisk
	faults
)

// rates returns how often each kind strikes.
func (f *Faults) rates() [faults]float64 {
	return [faults]float64{f.Partition, f.Crash, f.PowerFail, f.Pause, f.ClockSkew, f.Disk}
}

// checkRates panics if a rate makes no sense.
func (c *Config) checkRates() {
	names := [faults]string{"Partition", "Crash", "PowerFail", "Pause", "ClockSkew", "Disk"}
	for i, r := range c.Faults.rates() {
		if !(r >= 0 && r <= 1000) {
			panic(fmt.Sprintf("sim: Cluster with Config.Faults.%s = %v: it is a number of faults a second, from 0 to 1000", names[i], r))
		}
	}
	n := &c.Network
	for _, r := range []struct {
		name string
		part float64
	}{{"ShortReads", n.ShortReads}, {"PacketLoss", n.PacketLoss}, {"Reorder", n.Reorder}, {"Duplicate", n.Duplicate}} {
		if !(r.part >= 0 && r.part <= 1) {
			panic(fmt.Sprintf("sim: Cluster with Config.Network.%s = %v: it is a part of all messages, from 0 to 1", r.name, r.part))
		}
	}
	if n.Latency < 0 || n.Jitter < 0 || n.Tail < 0 || n.Bandwidth < 0 || n.Buffer < 0 || c.Limit < 0 || c.Faults.MaxDown < 0 {
		panic("sim: Cluster with a negative field in Config: use a positive number, or 0 for the default")
	}
}

// A nemesis makes faults strike.
type nemesis struct {
	world  *World
	moment moment
	rates  [faults]float64 // of this run
	total  float64
	every  time.Duration
	draws  *source
	cures  []*cure
}

// begin sets up the faults of a run.
func (n *nemesis) begin(w *World) {
	n.world = w
	n.moment.what = n
	if w.profile.calm {
		return
	}
	mask := w.run.choices.config(2)
	for i, r := range w.config.Faults.rates() {
		if mask>>i&1 == 0 || mask>>8%4 == 0 {
			n.rates[i] = r
			n.total += r
		}
	}
	if n.total == 0 {
		return
	}
	n.draws = w.run.choices.at(forFault, 0)
	n.every = max(time.Millisecond, time.Duration(float64(time.Second)/n.total/4))
	w.in(&n.moment, n.every)
}

// happen is called at regular moments.
func (n *nemesis) happen() {
	w := n.world
	if w.calm || w.ending {
		return
	}
	w.in(&n.moment, n.every)
	if v := n.draws.draw(n.choose); v != 0 {
		n.strike(v)
	}
}

// choose makes a fault of random bits: its kind in the lowest byte, which is 1 and
// more; above it whom it strikes, and how long.
func (n *nemesis) choose(random uint64) uint64 {
	at := float64(random>>40) / (1 << 24) / (n.total * n.every.Seconds()) * n.total
	for i, r := range n.rates {
		if at -= r; at < 0 {
			return uint64(i) + 1 | mix(random)>>24<<8
		}
	}
	return 0
}

// strike makes the fault v strike.
func (n *nemesis) strike(v uint64) {
	w := n.world
	var hosts []*Host
	for _, h := range w.hosts {
		if h != w.test {
			hosts = append(hosts, h)
		}
	}
	kind, whom, length := fault(v&0xff-1), int(v>>8&0xffff), time.Duration(v>>24&0xffff)
	if len(hosts) == 0 || kind >= faults {
		return
	}
	h := hosts[whom%len(hosts)]
	long := func(most time.Duration) time.Duration { return time.Millisecond + most*length>>16 }
	switch kind {
	case faultPartition:
		n.partition(hosts, whom, int(v>>40), long(10*time.Second))
	case faultCrash, faultPowerFail:
		if !h.Up() || n.down() >= n.maxDown() {
			return
		}
		if kind == faultCrash {
			h.Crash()
		} else {
			h.PowerFail()
		}
		n.cure(long(5*time.Second), func() {
			if !h.Up() {
				h.Restart()
			}
		}).host = h
	case faultPause:
		h.Pause(long(3 * time.Second))
	case faultClock:
		if v>>40&1 == 0 {
			h.SetClock(h.offset, int(length)%1001-500)
		} else {
			h.SetClock(h.offset+10*time.Second*(length-1<<15)>>15, h.ppm)
		}
	case faultDisk:
		h.disk.fault = diskFault(1 + v>>40%2)
		n.cure(long(2*time.Second), func() { h.disk.fault = diskWell })
	}
}

// partition cuts some of the hosts off: one, or a random part.
func (n *nemesis) partition(hosts []*Host, whom, how int, d time.Duration) {
	w := n.world
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
				if how>>1&3 != i+1 && !l.cut {
					l.cut = true
					cut = append(cut, l)
				}
			}
		}
		w.log(struck, from, nil, "partition", how>>1&3)
	}
	n.cure(d, func() {
		for _, l := range cut {
			l.cut = false
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

// Calm ends all faults, for the part of a test that demands progress: it heals all
// partitions, releases all links, ends pauses and disk faults, and restarts the hosts
// that are down. No fault strikes from then on, and no message is lost. Clocks stay as
// they are.
func (w *World) Calm() {
	if w.inert() {
		return
	}
	w.calm = true
	for _, c := range w.faults.cures {
		w.moments.drop(&c.moment)
	}
	w.faults.cures = nil
	w.Heal()
	for _, l := range w.links {
		l.loss = -1
		l.Release()
	}
	for _, h := range w.hosts {
		h.disk.fault = diskWell
		if h.pausedUntil > w.base.now {
			h.pausedUntil = w.base.now
			w.moments.put(&h.resumed, w.base.now)
		}
		if h != w.test && !h.Up() && h.failed {
			h.Restart()
		}
	}
}

// Eventually waits until cond is true, which it asks at least 200 times in d, the first
// time at once. It returns an error if that takes longer than d of virtual time, and the
// cause if ctx is cancelled. cond must not wait. It suspends the task.
func (w *World) Eventually(ctx context.Context, d time.Duration, cond func() bool) error {
	if cond == nil {
		panic("sim: World.Eventually with a nil function")
	}
	pause := min(max(d/200, time.Millisecond), 100*time.Millisecond)
	for end := w.base.now + int64(d); ; {
		if cond() {
			return nil
		}
		left := end - w.base.now
		if left <= 0 {
			return fmt.Errorf("sim: not within %v: %w", d, context.DeadlineExceeded)
		}
		if err := rondo.Sleep(ctx, min(pause, time.Duration(min(left, math.MaxInt64/2)))); err != nil {
			return err
		}
	}
}

// hostOrder is the place of the choices which host runs next.
const hostOrder = 1 << 48
