// Package pace decides when a busy loop asks its driver what has happened, and charges
// tasks with the time that it sees pass (cost.go).
//
// The law: a busy loop asks when it has run for After, however few steps that were, and at
// the latest after Every steps. The clock is read only now and then, after a number of steps
// that follows from how long the last ones took; after a sleep it is read at the first step.
// After a long step it is read at each of the next Every steps, because a task that took long
// once may do so again, however short the steps of others are that come between.
package pace

import "time"

// A busy loop asks the driver after Every steps or up to drift fewer, and earlier if
// they took After. A question costs a system call and a look at the clock, some 300 ns;
// a step may be as short as 5 ns. The number drifts because the task that runs at a
// question is charged with the steps before it: of tasks that take turns, each comes
// to be that one.
const (
	Every = 64
	After = int64(100 * time.Microsecond)
	drift = 7
)

// long is how long each of some steps took, on average, if one of them was a long one.
const long = After / 4

// Operations that need not wait are counted too: when the loop has run for After, the task that
// does the next one gives the others a turn. The count is in multiples of Operation, above
// whatever else is counted in the same word. The clock is read after lookEvery of them at most.
// In a simulation, whose clock stands still meanwhile, Operations are a turn, or as many as the
// seed says.
const (
	Operation  = 1 << 24
	Operations = 128
	lookEvery  = 64
)

// Many returns for how many operations one on n things counts.
func Many(n int) uint32 { return 1 + uint32(min(n, 256))/8 }

// A Pace is that of one loop.
type Pace struct {
	Look  uint64 // the step at which to read the clock next, and to call IsTime
	Share uint32 // the count of operations at which to call IsTurn
	Since int64  // the clock when the driver was asked last
	asked uint64 // the step at which it was asked
	fewer uint64 // than Every: see drift
	state uint32 // of the generator of fewer
	turn  int64  // the clock at the last IsTurn
	Costs
}

// Short reports whether it is not yet time to ask by the number of steps.
func (p *Pace) Short(step uint64) bool { return step-p.asked < Every-p.fewer }

// IsTime is called when the steps have come to Look. It reports whether to ask the
// driver now, and otherwise sets when to look at the clock again.
func (p *Pace) IsTime(step uint64, now int64) bool {
	steps, took := step-p.asked, now-p.Since
	if steps >= Every-p.fewer || took >= After {
		return true
	}
	p.lookAfter(step, p.asked+max(steps+1, min(next(steps, took), Every-p.fewer)))
	return false
}

// IsTurn is called when the running task has done n operations since it began to run or since
// the last IsTurn. It reports whether others are to have a turn now. It sets after how many
// operations to call it next: as many as took a quarter of After, but at most four times as many
// as last time. n is at least 1.
func (p *Pace) IsTurn(n uint32, now int64) bool {
	took := now - max(p.turn, p.Since)
	p.turn = now
	next := uint64(min(4*n, lookEvery))
	if took > 0 {
		next = max(1, min(next, uint64(n)*uint64(After/4)/uint64(took)))
	}
	p.Share = uint32(next) * Operation
	return now-p.Since >= After
}

// Asked notes that the driver was asked, and how the clock stands after that. If it was
// time by the clock, the next step may be long, too.
func (p *Pace) Asked(step uint64, now int64) {
	look := uint64(0)
	if took := now - p.Since; took < After {
		look = next(step-p.asked, took)
	}
	p.set(step, now, look)
}

// Resume notes how the clock stands when the loop goes on after a question.
func (p *Pace) Resume(now int64) { p.Since, p.read = now, now }

// Began returns the clock when the given step, which is the latest one, began, if the clock was
// read just then. Any goroutine may ask while the loop runs: what it may read while that is
// written is a time of the last steps.
//
//go:norace
func (p *Pace) Began(step uint64) (at int64, known bool) { return p.read, p.readAt+1 == step }

// Slept notes that the driver was asked and the loop slept.
func (p *Pace) Slept(step uint64, now int64) { p.set(step, now, 0) }

func (p *Pace) set(step uint64, now int64, look uint64) {
	p.asked, p.Since, p.read, p.readAt = step, now, now, step
	p.state = p.state*1664525 + 1013904223
	p.fewer = uint64(p.state>>29) & drift
	p.lookAfter(step, step+max(1, min(look, Every-p.fewer)))
}

// lookAfter sets when to look at the clock, at a step that is behind the given one.
func (p *Pace) lookAfter(step, at uint64) {
	if step < p.wary {
		at = step + 1
	}
	p.Look = at
}

// next returns after how many steps since a question to look at the clock, when some
// steps have taken some time: when, if the next ones take as long, it is time to ask;
// but after no more than four times as many.
func next(steps uint64, took int64) uint64 {
	n := min(4*steps, Every)
	if took > 0 {
		n = min(n, steps*uint64(After)/uint64(took))
	}
	return n
}
