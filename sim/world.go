package sim

// This file has the world that a simulated loop runs in: a driver whose clock jumps.
//
// The law: everything that it does is a function of its seed, of the choices made from
// that, and of what the loop asks. The only exception is what comes from other
// goroutines.

import (
	"errors"
	"math"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
)

// epoch is the earliest time that a simulated clock shows. It is long ago, so that
// a time that was taken from time.Now is easy to notice.
var epoch = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// origin is the instant at which a world begins: far from zero, so that an instant
// that was mistaken for a duration is easy to notice.
const origin = int64(1000 * time.Hour)

// hangAfter is how long, in real time, a loop may wait for other goroutines while
// its clock stands still, or a task may run without coming back to the loop.
// maxSteps is what a Config without MaxSteps has. Only tests change them.
var (
	hangAfter = time.Minute
	maxSteps  = defaultMaxSteps
)

var errNothingCame = errors.New("sim: nothing has come from outside the loop for a long real time, and its clock stands still until something does")

// A world is the driver of one simulated loop.
type world struct {
	run    *attempt
	order  *order
	start  time.Time // what the clock shows at origin
	now    int64
	wakeup chan struct{}
	idle   atomic.Bool   // the loop waits for other goroutines
	giveUp chan struct{} // closed when it has waited too long
	stuck  func()        // called when the steps are used up; does not return
	disk   *disk         // nil until it is used
	bubble *bubble       // nil: goroutines run in real time
	loop   kernel.Loop   // nil before its main task runs

	offloads  offloads
	early     early
	earliness int // how likely it is that a function returns at a turn of a busy loop, in millionths
}

// newWorld makes the world of a run.
func newWorld(a *attempt) *world {
	start := stream(a.choices.seed, forClock).Int64N(int64(24 * time.Hour))
	w := &world{
		run:    a,
		order:  newOrder(a.choices, 0),
		start:  epoch.Add(time.Duration(start)),
		now:    origin,
		wakeup: make(chan struct{}, 1),
		giveUp: make(chan struct{}),

		offloads: offloads{ended: make(chan struct{}, 1)},
	}
	if a.choices.walk == nil {
		w.earliness = [...]int{0, 30_000, 250_000, 250_000}[a.choices.config(configOffloads)%4]
	}
	a.clock, a.choices.now, a.offloads = w.Now, w.Now, &w.offloads
	return w
}

func (w *world) attempt() *attempt { return w.run }

func (w *world) Now() int64 { return w.now }

func (w *world) Time(instant int64) time.Time {
	return w.start.Add(time.Duration(instant - origin))
}

// Instant returns the instant of t, or driver.Forever if t is too far ahead to be
// counted.
func (w *world) Instant(t time.Time) int64 {
	d := int64(t.Sub(w.start))
	if d > math.MaxInt64-origin {
		return driver.Forever
	}
	return origin + d
}

// Poll jumps to the instant given. If that is driver.Outside or driver.Forever, the
// loop knows of something outside that will wake it, so Poll waits for that.
func (w *world) Poll(until int64) error {
	if w.bubble != nil {
		return w.pollBubble(until)
	}
	if until >= driver.Outside && len(w.offloads.running) > 0 {
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
		w.order.slept(until - w.now)
		w.now = w.order.sleeps(w.now, until)
		w.run.shown.Store(w.now - origin)
		w.step(1)
		w.run.trace.add(event{now: w.now, kind: jumped})
	default:
		// A busy loop polls now and then without having anything to choose.
		w.step(pollSteps)
	}
	return nil
}

// pollSteps is about how many steps a busy loop takes between two polls.
const pollSteps = 64

func (w *world) Wake() {
	select {
	case w.wakeup <- struct{}{}:
	default:
	}
}

func (w *world) Order() func(n int, who func(i int) uint64) int { return w.choose }

func (w *world) choose(n int, who func(i int) uint64) int {
	if w.bubble != nil {
		synctest.Wait()
	}
	if n != w.order.last-1 {
		w.begins(&w.early)
	}
	i := w.order.choose(n, who)
	if i < 0 {
		w.run.shown.Store(w.now - origin)
		w.step(1)
		if t := w.run.trace; t != nil {
			t.choose(w.now, passed, w.order.taskAt(^i), n)
		}
	} else if n > 1 {
		w.run.shown.Store(w.now - origin)
		w.step(1)
		if t := w.run.trace; t != nil {
			t.choose(w.now, chosen, w.order.taskAt(i), n)
		}
	}
	return i
}

func (w *world) step(n uint64) {
	if w.run.steps.Add(n) > uint64(w.run.maxSteps) {
		w.stuck()
	}
}

// Until and Punctual implement driver.Late.
func (w *world) Until() int64   { return w.order.Until() }
func (w *world) Punctual() bool { return w.order.Punctual() }

// Refused counts the waits that fail at once: a task that goes on all the same is a
// livelock.
func (w *world) Refused() {
	if w.run.refused++; w.run.refused > w.run.maxSteps {
		w.stuck()
	}
}

func (w *world) Virtual() bool { return true }

// Prompt is that of driver.Prompt.
func (w *world) Prompt() bool { return w.early.open > 0 }

// Within is that of driver.Within.
func (w *world) Within() bool { return w.loop != nil && w.loop.Inside() }

func (w *world) Alone() bool { return w.bubble == nil }

func (w *world) Close() error { return nil }

// checks is how often wait must find that the loop has made no progress before it
// takes the loop for stuck.
const checks = 10

// wait returns the outcome of a run. It reports a loop that makes no progress for
// hangAfter as stuck.
func (w *world) wait(ended <-chan outcome) outcome {
	interval := hangAfter / checks
	timer := time.NewTimer(interval)
	defer timer.Stop()
	warned := false
	for steps, same := uint64(0), 0; ; {
		select {
		case o := <-ended:
			return o
		case <-timer.C:
			timer.Reset(interval)
		}
		// Time alone proves nothing, because the whole process may have been
		// stopped. So the checks are counted.
		same++
		if now := w.run.steps.Load(); now != steps {
			steps, same = now, 0
		}
		if same < checks {
			continue
		}
		if warned || !w.idle.Load() {
			return outcome{stuck: hang(), running: true}
		}
		close(w.giveUp)
		warned, same = true, 0
	}
}
