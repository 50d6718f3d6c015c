package sim

// This file has the world that a simulated loop lives in: a driver whose clock
// jumps and whose choices are made by somebody else. Whatever it does is a
// function of its seed, of its choices, and of what the loop asks; what comes
// from other goroutines is the one exception.

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
)

// epoch is what a simulated clock shows at the earliest. It is long ago, so that
// a time that was taken from time.Now shows at once.
var epoch = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// origin is the instant of a world's beginning: far from zero, so that an
// instant taken for a duration shows.
const origin = int64(1000 * time.Hour)

// patience is how long, in real time, a loop may wait for other goroutines while
// its clock stands still, or a task may run without coming back to the loop.
// Only tests change it, and stepsMax.
var (
	patience        = time.Minute
	stepsMax uint64 = StepsMax
)

var errPatience = errors.New("sim: nothing has come from outside the loop for a long real time, and its clock stands still until something does")

// A world is the driver of one simulated loop.
type world struct {
	label  string
	start  time.Time // what the clock shows at origin
	now    int64
	pick   strategy
	steps  atomic.Uint64 // also what tells others that the loop goes on
	trail  trail
	rand   *rand.Rand
	bell   chan struct{}
	idle   atomic.Bool   // the loop waits for other goroutines
	enough chan struct{} // closed when it has waited too long
	stuck  func()        // called when the steps are used up; does not return
}

// newWorld makes the world of a seed. pick chooses among n.
func newWorld(seed uint64, pick strategy) *world {
	start := stream(seed, forClock).Int64N(int64(24 * time.Hour))
	return &world{
		label:  fmt.Sprintf("seed %d", seed),
		start:  epoch.Add(time.Duration(start)),
		now:    origin,
		pick:   pick,
		rand:   stream(seed, forBody),
		bell:   make(chan struct{}, 1),
		enough: make(chan struct{}),
	}
}

func (w *world) elapsed() time.Duration { return time.Duration(w.now - origin) }

func (w *world) Now() int64 { return w.now }

func (w *world) Time(instant int64) time.Time {
	return w.start.Add(time.Duration(instant - origin))
}

// Instant gives the instant of t. One too far ahead to be counted is
// driver.Forever.
func (w *world) Instant(t time.Time) int64 {
	d := int64(t.Sub(w.start))
	if d > math.MaxInt64-origin {
		return driver.Forever
	}
	return origin + d
}

// Poll jumps to the instant given. If that never comes, the loop knows of
// something outside that will wake it, so it waits for that.
func (w *world) Poll(until int64) error {
	select {
	case <-w.bell:
		return nil
	default:
	}
	switch {
	case until == driver.Forever:
		w.idle.Store(true)
		defer w.idle.Store(false)
		select {
		case <-w.bell:
		case <-w.enough:
			return errPatience
		}
	case until > w.now:
		w.now = until
		w.step(1)
		w.trail.add(event{now: until})
	default:
		// A busy loop looks in once in a while without anything to choose.
		w.step(busy)
	}
	return nil
}

// busy is how many steps a loop takes between two looks at its driver.
const busy = 64

func (w *world) Wake() {
	select {
	case w.bell <- struct{}{}:
	default:
	}
}

func (w *world) Order() func(n int, who func(i int) uint64) int { return w.choose }

func (w *world) choose(n int, who func(i int) uint64) int {
	w.step(1)
	i := w.pick(n, who)
	w.trail.add(event{now: w.now, who: who(i), n: int32(n)})
	return i
}

func (w *world) step(n uint64) {
	if w.steps.Add(n) > stepsMax {
		w.stuck()
	}
}

func (w *world) Virtual() bool { return true }

func (w *world) Close() error { return nil }

// looks is how often wait looks whether the loop goes on.
const looks = 10

// wait gives the outcome of a run. It has patience with a loop that does not go
// on, but not for ever.
func (w *world) wait(ended <-chan outcome) outcome {
	look := patience / looks
	timer := time.NewTimer(look)
	defer timer.Stop()
	warned := false
	for steps, same := uint64(0), 0; ; {
		select {
		case o := <-ended:
			return o
		case <-timer.C:
			timer.Reset(look)
		}
		// Time alone proves nothing: the whole process may have been stopped. So
		// it is the looks that count.
		same++
		if now := w.steps.Load(); now != steps {
			steps, same = now, 0
		}
		if same < looks {
			continue
		}
		if warned || !w.idle.Load() {
			return outcome{stuck: hang()}
		}
		close(w.enough)
		warned, same = true, 0
	}
}
