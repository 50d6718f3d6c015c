package sim

// A test demands safety of a cluster with Invariant, and progress with Calm and Eventually.

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim/internal/disk"
	"github.com/rondo-go/rondo/sim/internal/network"
)

// Calm ends all faults, for the part of a test that demands progress: it heals all
// partitions, releases all links, ends pauses and disk faults, makes slow hosts and links
// quick, and restarts the hosts that are down. What is damaged on a disk stays so. From then
// on no fault strikes, no message is lost, tasks and timers are on time, and what
// Config.Network leaves to the seed is quick. Clocks stay as they are.
func (w *World) Calm() {
	if w.inert() {
		return
	}
	w.calm = true
	w.faults.Calm()
	w.Heal()
	w.net.Settle(network.Conditions(w.config.Network))
	for _, h := range w.hosts {
		h.disk.Faults = disk.Faults{}
		h.node.NoDescriptors, h.node.Names, h.slow = false, network.TrueNames, 0
		for _, p := range h.loops() {
			if p.order.Calm = true; p.polling {
				w.makeReady(p) // it may have tasks that are late
			}
		}
		if h.pausedUntil > w.base.now {
			h.pausedUntil = w.base.now
			w.moments.Put(&h.resumed, w.base.now)
		}
		if h != w.test && !h.Up() && h.failed {
			h.Restart()
		}
	}
}

// Eventually waits until cond is true. It calls cond at once, and then about 200 times in d, but
// not more often than each millisecond and at least each 100 ms. It returns an error if cond is
// not true within d of virtual time, and the cause if ctx is cancelled. cond must not wait.
// Eventually suspends the task.
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

// Invariant makes sim call check after each step of a host and each event of the network and the
// disks. Use it for a condition that must hold at all times. An error ends the run. check must
// not wait. A panic of check fails the run as an error does.
func (w *World) Invariant(name string, check func() error) {
	if check == nil {
		panic(fmt.Sprintf("sim: World.Invariant(%q) with a nil function", name))
	}
	if w.inert() {
		return
	}
	before := w.settled
	w.settled = func() error {
		if before != nil {
			if err := before(); err != nil {
				return err
			}
		}
		if err := check(); err != nil {
			w.broken = name
			return fmt.Errorf("invariant %q: %w", name, err)
		}
		return nil
	}
}
