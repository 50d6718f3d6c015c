package sim

// This file has what makes things late: a ready task that is passed over for some turns,
// one that runs only after some time, a loop that sleeps for too long, and timers that
// are due at the instants of a grid only. No order of what is ready finds a mistake that
// needs one task to be overtaken by many steps of another, or two timers to change
// places.
//
// The law: Rondo promises no more than this. A task that is ready runs some time, and a
// timer is never early. What a loop promises besides, that a turn runs everything that
// is ready and that an idle loop is on time, holds in the first seeds of Test; see
// exactSeeds.

import (
	"math"
	"math/rand/v2"
	"time"
)

// exactSeeds are the first seeds of a Test, in which nothing is late: with them a test
// may compare times exactly, and count turns.
const exactSeeds = repeatedSeeds

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

// late returns how late things are in a run. Every seed has some of the ways, and
// one in some eight has none.
func (c *choices) late() (l lateness) {
	if !c.rough {
		return l
	}
	bits := c.config(configLate)
	pick := func(of ...int) int {
		i := bits % uint64(len(of))
		bits /= uint64(len(of))
		return of[i]
	}
	l.hold = pick(0, 0, 60_000, 250_000)
	l.stall = pick(0, 0, 15_000, 60_000)
	l.poll = pick(0, 0, 0, 60_000)
	l.strict = pick(0, 1) == 1
	l.grid = int64(pick(0, 0, 0, 1, 2, 5)) * int64(pick(100e3, 1e6, 10e6))
	return l
}

// What config decides.
const (
	configLate = iota + 1
	configFaults
	configNetwork
	configDisk
	configHosts
	configOffloads
)

// none reports whether nothing is ever late.
func (l *lateness) none() bool { return *l == lateness{} }

// delays is the part of an order that makes things late.
//
// What is late is decided at the beginning of a turn, for one task after the other,
// before anything else is chosen. So a list of these choices repeats them, whatever
// the strategy chooses besides.
type delays struct {
	lateness
	rand   *rand.Rand
	tasks  map[uint64]*delayed
	open   []*delayed // those to be recorded when they are over
	blanks []delayed  // those of the future
	until  int64      // until when the task that was chosen last is put off
	cursor int        // the place in the queue up to which this turn's tasks have been looked at
	top    uint64     // with strict, the one task that runs in this turn
	recent [8]int64   // how long the loop has slept lately
	sleeps uint32
	jumps  uint32
}

// A delayed task is ready and does not run.
type delayed struct {
	id     uint64
	step   key  // its next step
	left   int  // for how many turns more it is passed over
	passed int  // for how many it was
	stalls bool // it is put off until a time, and runs then
}

// Until and Punctual implement driver.Late.
//
// A loop that is never idle lets no time pass, so nothing is late on it after busyMost turns: what
// it does may be to wait for that.
func (o *order) Until() int64   { return o.late.until }
func (o *order) Punctual() bool { return o.calm || o.busy > busyMost }

// busyMost is how many turns a loop may take from one sleep to the next while a task is late.
const busyMost = 1000

// delays returns the place of a task that does not run in this turn, or -1 if there is
// none any more. It is asked before each choice among n; begins says that a turn
// begins.
func (o *order) delays(n int, who func(i int) uint64, begins bool) int {
	l := &o.late
	if begins {
		l.cursor = 0
		if l.top = 0; l.strict && n <= strictMax {
			l.top = o.priorities.top(n, who)
		}
	}
	for ; l.cursor < n; l.cursor++ {
		if id := who(l.cursor); id != 0 && o.delayed(id) {
			// What was in front comes to this place, and the queue moves up by one.
			return l.cursor
		}
	}
	return -1
}

// delayed reports whether a task that is ready does not run in this turn.
func (o *order) delayed(id uint64) bool {
	l := &o.late
	l.until = 0
	d := l.tasks[id]
	strict := l.top != 0 && l.top != id
	if d == nil {
		hold, stall := l.strikes(o.choices.given != nil)
		if !hold && !stall && !strict {
			return false // which is by far the most frequent
		}
		if d = o.delay(id, strict, hold, stall); d == nil {
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
func (o *order) over(d *delayed) {
	if d.passed > 0 {
		o.choices.who = o.number<<32 | d.id
		o.choices.note(d.step, uint64(d.passed))
		d.passed = 0
	}
}

// end records the delays that last until the end of the run.
func (o *order) end() {
	for _, d := range o.late.open {
		o.over(d)
	}
}

// strikes decides whether the next step of a task is passed over or late. Where a list is
// repeated, each may be. It is apart from delay because it runs on the small stacks of
// tasks, for each step.
func (l *delays) strikes(given bool) (hold, stall bool) {
	if given {
		return true, true
	}
	hold = l.hold > 0 && l.rand.IntN(1e6) < l.hold
	return hold, !hold && l.stall > 0 && l.rand.IntN(1e6) < l.stall
}

// delay decides how the next step of a task is late, and for how long. It returns nil if
// it is not.
func (o *order) delay(id uint64, strict, hold, stalls bool) *delayed {
	l := &o.late
	var step key // of the delay that lasts for turns
	if o.tasks != nil {
		t := o.task(id)
		step = key{purpose: forHold, place: t.place, ordinal: t.taken}
	}
	var left int
	var stall uint64
	if given := o.choices.given; given != nil {
		left = int(min(given[step], passedMax))
		stall = given[key{purpose: forStall, place: step.place, ordinal: step.ordinal}]
	} else {
		switch {
		case hold:
			left = int(math.Exp2(6 * l.rand.Float64()))
		case stalls:
			stall = l.span()
		}
	}
	if left == 0 && stall == 0 && !strict {
		return nil
	}
	d := l.blank()
	d.id, d.step, d.left = id, step, left
	if left == 0 && stall > 0 {
		d.step.purpose, d.stalls = forStall, true
		l.until = o.choices.now() + int64(min(stall, math.MaxInt64/4))
		o.choices.who = o.number<<32 | id
		o.choices.note(d.step, stall)
	}
	return d
}

// blank returns a new delayed. They are made some at a time, because that is done on the
// small stacks of tasks.
func (l *delays) blank() *delayed {
	if len(l.blanks) == 0 {
		l.blanks = make([]delayed, 32)
	}
	d := &l.blanks[0]
	l.blanks = l.blanks[1:]
	return d
}

// slept notes for how long the loop has slept.
func (o *order) slept(d int64) {
	l := &o.late
	o.busy = 0
	l.recent[l.sleeps%uint32(len(l.recent))] = d
	l.sleeps++
}

// spanMost is how late something is at most: nobody expects a program to bear more.
const spanMost = time.Minute

// span returns how late something is: something like what the loop has slept lately, or
// anything from 100 us to a second.
func (l *delays) span() uint64 {
	if d := l.recent[l.rand.IntN(len(l.recent))]; d > 0 && l.rand.IntN(2) == 0 {
		return uint64(min(float64(d)*math.Exp2(3*l.rand.Float64()-1), float64(spanMost)))
	}
	return uint64(100e3 * math.Exp2(13*l.rand.Float64()))
}

// sleeps returns when a loop wakes up that sleeps from now until an instant that is
// ahead.
func (o *order) sleeps(now, until int64) int64 {
	l := &o.late
	if o.calm || l.none() && o.choices.given == nil {
		return until
	}
	k := key{purpose: forPoll, place: o.host, ordinal: l.jumps}
	l.jumps++
	var by uint64
	switch {
	case o.choices.given != nil:
		by = o.choices.given[k]
	case l.poll > 0 && l.rand.IntN(1e6) < l.poll:
		by = l.span()
	case l.grid > 0:
		by = uint64((l.grid - until%l.grid) % l.grid)
	}
	o.choices.note(k, by)
	return until + int64(min(by, uint64(math.MaxInt64-1-until)))
}
