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
	Crash     float64 // a host crashes, also between two writes to its disk, and restarts within 5 s
	PowerFail float64 // a host loses power, also in the middle of a Sync, and restarts within 5 s
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

// Calm ends all faults, for the part of a test that demands progress: it heals all
// partitions, releases all links, ends pauses and disk faults, and restarts the hosts
// that are down. From then on no fault strikes, no message is lost, tasks and timers are
// on time, and what Config.Network leaves to the seed is quick. Clocks stay as they are.
func (w *World) Calm() {
	if w.inert() {
		return
	}
	w.calm = true
	w.profile.settle(w.config.Network)
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
		if p := h.process; p != nil {
			if p.order.calm = true; p.polling {
				w.makeReady(p) // it may have tasks that are late
			}
		}
		if h.pausedUntil > w.base.now {
			h.pausedUntil = w.base.now
			w.moments.put(&h.resumed, w.base.now)
		}
		if h != w.test && !h.Up() && h.failed {
			h.Restart()
		}
	}
}

// Eventually waits until cond is true. It asks cond at once, and then about 200 times in d,
// but not more often than each millisecond and at least each 100 ms. It returns an error
// if cond is not true within d of virtual time, and the cause if ctx is cancelled. cond
// must not wait. Eventually suspends the task.
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

// The places of choices that belong to no host.
const (
	hostOrder    = 1<<48 + iota // which host runs next
	hostSteps                   // whether a busy host lets others go first
	offloadOrder                // which function that was offloaded runs next
	earlyOrder                  // whether one returns while its loop is busy
	signalOrder  = 1 << 49      // plus a host: which of its signals is taken next
)
