package sim

// A loopWorld is the driver of one simulated loop, whose clock jumps.
//
// The law: its every step is a function of the seed, of the choices made from that, and of the
// calls of the loop. The only exception is what comes from other goroutines.

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/disk"
	"github.com/rondo-go/rondo/sim/internal/moment"
	"github.com/rondo-go/rondo/sim/internal/offload"
	"github.com/rondo-go/rondo/sim/internal/order"
	"github.com/rondo-go/rondo/sim/internal/record"
)

var errNothingCame = errors.New("sim: nothing has come from outside the loop for a long real time, and its clock stands still until something does")

// A loopWorld is the driver of one simulated loop. A World has one for its clock.
type loopWorld struct {
	run    *attempt
	order  *order.Order
	start  time.Time // what the clock shows at origin
	now    int64
	wakeup chan struct{}
	idle   atomic.Bool                 // the loop waits for other goroutines
	giveUp chan struct{}               // closed when it has waited too long
	stuck  func()                      // called when the steps are used up; does not return
	disk   *disk.Disk                  // nil until it is used
	bubble *bubble                     // nil: goroutines run in real time
	loop   kernel.Loop                 // nil before its main task runs
	main   context.Context             // likewise
	inside atomic.Pointer[kernel.Loop] // &loop likewise; any goroutine reads it

	stops  bool   // the loop is to be told that the run has ended
	ran    uint64 // the task that ran last; 0: a callback
	looked bool   // since then; see fails

	pool     *offload.Pool // of all loops of the run
	offloads offload.Loop
}

// newLoopWorld makes the world of a run.
func newLoopWorld(a *attempt) *loopWorld {
	start := choice.Stream(a.Choices.Seed, choice.ForClock).Int64N(int64(24 * time.Hour))
	w := &loopWorld{
		run:    a,
		start:  epoch.Add(time.Duration(start)),
		now:    moment.Origin,
		wakeup: make(chan struct{}, 1),
		giveUp: make(chan struct{}),
	}
	w.order = order.New(a.Choices, 0, w.Now)
	w.pool = offload.New(a.Choices, a.Trace)
	w.offloads = w.pool.Loop()
	a.Clock = w.Now
	return w
}

func (w *loopWorld) attempt() *attempt { return w.run }

func (w *loopWorld) Now() int64 { return w.now }

func (w *loopWorld) Time(instant int64) time.Time {
	return w.start.Add(time.Duration(instant - moment.Origin))
}

// Instant returns the instant of t, or driver.Forever if t is too far ahead to be
// counted.
func (w *loopWorld) Instant(t time.Time) int64 {
	d := int64(t.Sub(w.start))
	if d > math.MaxInt64-moment.Origin {
		return driver.Forever
	}
	return moment.Origin + d
}

// Poll jumps to the instant given. If that is driver.Outside or driver.Forever, the
// loop knows of something outside that will wake it, so Poll waits for that.
func (w *loopWorld) Poll(until int64) error {
	if w.fails(); w.stops {
		w.stops = false
		return errStopped
	}
	if w.bubble != nil {
		return w.pollBubble(until)
	}
	if until >= driver.Outside && w.pool.Running() {
		return w.waitForGoroutines()
	}
	select {
	case <-w.wakeup:
		w.step(1)
		return nil
	default:
	}
	switch {
	case until >= driver.Outside:
		return w.waitForGoroutines()
	case until > w.now:
		w.order.Slept(until - w.now)
		w.now = w.order.Sleeps(w.now, until)
		w.run.Shown.Store(w.now - moment.Origin)
		w.step(1)
		w.run.Trace.Add(record.Event{Now: w.now, Kind: record.Jumped})
	default:
		// A busy loop polls now and then without having anything to choose.
		w.step(pollSteps)
	}
	return nil
}

// waitForGoroutines waits, in real time, until a goroutine wakes a loop or a function has
// ended that was offloaded.
func (w *loopWorld) waitForGoroutines() error {
	w.idle.Store(true)
	defer w.idle.Store(false)
	if !w.pool.Wait(w.wakeup, w.giveUp) {
		return errNothingCame
	}
	return nil
}

// pollSteps is about how many steps a busy loop takes between two polls.
const pollSteps = 64

func (w *loopWorld) Wake() {
	select {
	case w.wakeup <- struct{}{}:
	default:
	}
}

// Epoch returns 0: the clock is not the system's.
func (w *loopWorld) Epoch() int64 { return 0 }

// Poller returns nil: a simulated loop has no descriptors.
func (w *loopWorld) Poller() driver.Poller { return nil }

func (w *loopWorld) Simulation() driver.Simulation { return w }

func (w *loopWorld) Choose(n int, who func(i int) uint64) (i int, runs bool) {
	w.settle()
	w.fails()
	if w.order.Begins(n) {
		w.offloads.Begins()
	}
	i = w.order.Choose(n, who)
	kind, runs := record.Chosen, i >= 0
	if !runs {
		i, kind = ^i, record.Passed
	}
	task := w.order.TaskAt(i)
	if n > 1 || !runs {
		w.step(1)
		if t := w.run.Trace; t != nil {
			t.Choose(w.now, kind, task, n)
		}
	}
	if runs {
		w.ran, w.looked = task, false
	}
	return i, runs
}

// fails looks whether what ran last has failed the test: then the loop is told that the run ends.
func (w *loopWorld) fails() {
	if w.looked {
		return
	}
	w.looked = true
	if w.run.Fails(w.ran, func() string { return w.run.nameOf(rondo.Tasks(w.main), 0, w.ran) }) {
		w.stops = true
	}
}

func (w *loopWorld) step(n uint64) {
	if w.run.Steps.Add(n) > uint64(w.run.MaxSteps) {
		w.stuck()
	}
}

func (w *loopWorld) Until() int64   { return w.order.Until() }
func (w *loopWorld) Punctual() bool { return w.order.Punctual() }

func (w *loopWorld) DrawsShares() bool          { return w.order.DrawsShares() }
func (w *loopWorld) EndsShare(task uint64) bool { return w.run.endsShare(w.order, task) }

// Refused counts the waits that fail at once: a task that goes on all the same is a
// livelock.
func (w *loopWorld) Refused() {
	if w.run.refused++; w.run.refused > w.run.MaxSteps {
		w.stuck()
	}
}

func (w *loopWorld) Prompt() bool { return w.offloads.Prompt() }

func (w *loopWorld) Offload(user uintptr, fn, back func()) bool {
	if w.bubble != nil {
		return false
	}
	w.offloads.Add(user, fn, back)
	return true
}

func (w *loopWorld) HandsOver(v any) { w.run.Trace.Put(w.now, 0, v) }

func (w *loopWorld) Within() bool { return w.loop != nil && w.loop.Inside() }

func (w *loopWorld) Alone() bool { return w.bubble == nil }

// Awaits is asked where the loop is in deadlock.
func (w *loopWorld) Awaits() bool {
	w.run.Account.Fails(w.ran)
	return false
}

// Host returns nil: the world has one loop.
func (w *loopWorld) Host() driver.Host { return nil }

func (w *loopWorld) Close() error { return nil }
