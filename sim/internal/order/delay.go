package order

// Delays are faults that a seed injects: a ready task skipped for some turns, a task that
// runs late, a loop that oversleeps, timers rounded to a grid. Reordering ready tasks cannot
// expose a bug in which one task falls many steps behind another, or in which two timers
// change places.
//
// The law: a ready task runs some time, and a timer is never early. Rondo promises no more
// than that. The first seeds of Test inject no delays, because a test may rely on two more
// things: that a turn runs everything that is ready, and that an idle loop is on time.

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/rondo-go/rondo/sim/internal/choice"
)

// strictMax is how many things are ready at most in a turn that runs one of them only.
const strictMax = 16

// passedMax is for how many turns in a row a ready task is passed over at most.
const passedMax = 64

// lateness is how likely it is that things are late in a run, in millionths. The zero
// value is a loop that is on time.
type lateness struct {
	hold   int  // that a step begins with turns in which the task is passed over
	stall  int  // that a step is late
	poll   int  // that the loop sleeps for too long
	strict bool // of priorities: only what has the highest one runs in a turn
	grid   int64
}

// latenessOf returns how likely delays are in a run. A seed has some kinds of delays, and one
// seed in about twenty has none.
func latenessOf(c *choice.Choices) (l lateness) {
	if !c.Rough {
		return l
	}
	bits := c.Config(choice.ConfigLate)
	pick := func(of ...int) int {
		i := bits % uint64(len(of))
		bits /= uint64(len(of))
		return of[i]
	}
	l.hold = pick(0, 0, 60_000, 250_000)
	l.stall = pick(0, 0, 15_000, 60_000)
	l.poll = pick(0, 0, 0, 60_000)
	l.strict = pick(0, 1) == 1 && !c.Renewed()
	l.grid = int64(pick(0, 0, 0, 1, 2, 5)) * int64(pick(100e3, 1e6, 10e6))
	return l
}

// none reports whether nothing is ever late.
func (l *lateness) none() bool { return *l == lateness{} }

// A delayer injects the delays of an order.
//
// What is late is decided at the beginning of a turn, for one task after the other,
// before anything else is chosen. So a list of these choices repeats them, whatever
// the strategy chooses besides.
type delayer struct {
	lateness
	rand   *rand.Rand
	tasks  map[uint64]*delay
	open   []*delay // those to be recorded when they are over
	blanks []delay  // those of the future
	until  int64    // until when the task that was chosen last is put off
	cursor int      // the place in the queue up to which this turn's tasks have been looked at
	top    uint64   // with strict, the one task that runs in this turn
	recent [8]int64 // how long the loop has slept lately
	sleeps uint32
	jumps  uint32
}

// A delay task is ready and does not run.
type delay struct {
	id     uint64
	step   choice.Key // its next step
	left   int        // for how many turns more it is passed over
	passed int        // for how many it was
	stalls bool       // it is put off until a time, and runs then
}

// Until is that of driver.Simulation.
//
// A loop that is never idle lets no time pass, so nothing is late on it after busyMost turns: what
// it does may be to wait for that.
func (o *Order) Until() int64 { return o.late.until }

// Punctual is that of driver.Simulation.
func (o *Order) Punctual() bool { return o.Calm || o.busy > busyMost }

// busyMost is how many turns a loop may take from one sleep to the next while a task is late.
const busyMost = 1000

// skipped returns the place of a task that does not run in this turn, or -1 if there is
// none any more. It is asked before each choice among n; begins says that a turn
// begins.
func (o *Order) skipped(n int, who func(i int) uint64, begins bool) int {
	l := &o.late
	if begins {
		l.cursor = 0
		if l.top = 0; l.strict && n <= strictMax {
			l.top = o.priorities.top(n, who)
		}
	}
	for ; l.cursor < n; l.cursor++ {
		if id := who(l.cursor); id != 0 && o.skips(id) {
			// What was in front comes to this place, and the queue moves up by one.
			return l.cursor
		}
	}
	return -1
}

// skips reports whether a task that is ready does not run in this turn.
func (o *Order) skips(id uint64) bool {
	l := &o.late
	l.until = 0
	d := l.tasks[id]
	strict := l.top != 0 && l.top != id
	if d == nil {
		hold, stall := l.strikes(o.choices.Given != nil)
		if !hold && !stall && !strict {
			return false // which is by far the most frequent
		}
		if d = o.newDelay(id, strict, hold, stall); d == nil {
			return false
		}
		l.tasks[id] = d
		if o.tasks != nil {
			l.open = append(l.open, d)
		}
		if d.stalls {
			return true
		}
	}
	if !d.stalls && d.passed < passedMax && (d.left > 0 || strict) {
		d.left--
		d.passed++
		return true
	}
	o.over(d)
	delete(l.tasks, id)
	return false
}

// over records a delay that is over.
func (o *Order) over(d *delay) {
	if d.passed > 0 {
		o.choices.Who = o.number<<32 | d.id
		o.choices.Note(d.step, uint64(d.passed))
		d.passed = 0
	}
}

// End records the delays that last until the end of the run.
func (o *Order) End() {
	for _, d := range o.late.open {
		o.over(d)
	}
}

// strikes decides whether the next step of a task is passed over or late. Where a list is
// repeated, each may be. It is apart from delay because it runs on the small stacks of
// tasks, for each step.
func (l *delayer) strikes(given bool) (hold, stall bool) {
	if given {
		return true, true
	}
	hold = l.hold > 0 && l.rand.IntN(1e6) < l.hold
	return hold, !hold && l.stall > 0 && l.rand.IntN(1e6) < l.stall
}

// newDelay decides how the next step of a task is late, and for how long. It returns nil if
// it is not.
func (o *Order) newDelay(id uint64, strict, hold, stalls bool) *delay {
	l := &o.late
	var step choice.Key // of the delay that lasts for turns
	if o.tasks != nil {
		t := o.task(id)
		step = choice.Key{Purpose: choice.ForHold, Place: t.place, Ordinal: t.taken}
	}
	var left int
	var stall uint64
	if given := o.choices.Given; given != nil {
		left = int(min(given[step], passedMax))
		stall = given[choice.Key{Purpose: choice.ForStall, Place: step.Place, Ordinal: step.Ordinal}]
	} else {
		switch {
		case hold:
			left = int(math.Exp2(6 * l.rand.Float64()))
		case stalls:
			stall = l.span()
		}
		if !o.choices.Keeps(step) {
			left = 0
		}
		if !o.choices.Keeps(choice.Key{Purpose: choice.ForStall, Place: step.Place, Ordinal: step.Ordinal}) {
			stall = 0
		}
	}
	if left == 0 && stall == 0 && !strict {
		return nil
	}
	d := l.blank()
	d.id, d.step, d.left = id, step, left
	if left == 0 && stall > 0 {
		d.step.Purpose, d.stalls = choice.ForStall, true
		l.until = o.now() + int64(min(stall, math.MaxInt64/4))
		o.choices.Who = o.number<<32 | id
		o.choices.Note(d.step, stall)
	}
	return d
}

// blank returns a new delay. Delays are made some at a time, because that is done on the
// small stacks of tasks.
func (l *delayer) blank() *delay {
	if len(l.blanks) == 0 {
		l.blanks = make([]delay, 32)
	}
	d := &l.blanks[0]
	l.blanks = l.blanks[1:]
	return d
}

// Slept notes for how long the loop has slept.
func (o *Order) Slept(d int64) {
	l := &o.late
	o.busy = 0
	l.recent[l.sleeps%uint32(len(l.recent))] = d
	l.sleeps++
}

// spanMost is how late something is at most: nobody expects a program to bear more.
const spanMost = time.Minute

// span returns how late something is: something like what the loop has slept lately, or
// anything from 100 us to a second.
func (l *delayer) span() uint64 {
	if d := l.recent[l.rand.IntN(len(l.recent))]; d > 0 && l.rand.IntN(2) == 0 {
		return uint64(min(float64(d)*math.Exp2(3*l.rand.Float64()-1), float64(spanMost)))
	}
	return uint64(100e3 * math.Exp2(13*l.rand.Float64()))
}

// Sleeps returns when a loop wakes up that sleeps from now until an instant that is
// ahead.
func (o *Order) Sleeps(now, until int64) int64 {
	l := &o.late
	if w := o.choices.Walk; w != nil && !o.Calm {
		return until + int64(min(w.Oversleeps(), time.Duration(math.MaxInt64-1-until)))
	}
	if o.Calm || l.none() && o.choices.Given == nil {
		return until
	}
	k := choice.Key{Purpose: choice.ForPoll, Place: o.host, Ordinal: l.jumps}
	l.jumps++
	var by uint64
	switch {
	case o.choices.Given != nil:
		by = o.choices.Given[k]
	case l.poll > 0 && l.rand.IntN(1e6) < l.poll:
		by = l.span()
	case l.grid > 0:
		by = uint64((l.grid - until%l.grid) % l.grid)
	}
	if !o.choices.Keeps(k) {
		by = 0
	}
	o.choices.Note(k, by)
	return until + int64(min(by, uint64(math.MaxInt64-1-until)))
}
