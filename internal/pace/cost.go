package pace

// Tasks are charged with the time that the loop takes. The clock is read where
// the loop reads it anyway, so what a task is charged with is exact only for a step
// with a reading before and after it: the first step after a sleep, and every step of
// 100 µs or so. A few short steps between two readings are charged to the task that
// ran last, which over time makes shares that are right. If one of several steps was a
// long one, it is not known which, and no task is charged.
//
// Readers from outside know where the exported fields stand (package layout): new ones
// come at the end.

import "time"

// A step counts as slow from Slow on, and as one that has held the loop from Holds on.
const (
	Slow  = int64(time.Millisecond)
	Holds = int64(100 * time.Millisecond)
)

// A Cost is what a task is charged with. Each task that waits has one, so it is small:
// it has no field of eight bytes, which would have to stand at a multiple of eight.
type Cost struct {
	busy  [2]uint32 // see Busy; the low half first, as readers from outside expect
	steps uint32    // see Longest and Slow
	Waker uint32    // the low half of the number of the task that woke it last; 0 if none did
}

// The longest step stands in the upper bits of steps, in units; how many were slow
// below them, up to mostSlow.
const (
	slowBits = 10
	mostSlow = 1<<slowBits - 1
	unit     = int64(16 * time.Microsecond)
)

// Busy returns the nanoseconds that the task was charged with.
func (c *Cost) Busy() int64 { return int64(c.busy[1])<<32 | int64(c.busy[0]) }

// Longest returns the nanoseconds of the longest step of those that were measured
// alone, rounded down to 16 µs; up to 67 s.
func (c *Cost) Longest() int64 { return int64(c.steps>>slowBits) * unit }

// Slow returns how many of these took a millisecond or more, up to 1023.
func (c *Cost) Slow() int { return int(c.steps & mostSlow) }

func (c *Cost) add(took int64) {
	sum := c.Busy() + took
	c.busy = [2]uint32{uint32(sum), uint32(sum >> 32)}
}

// Costs are what a loop keeps.
type Costs struct {
	Unknown int64   // nanoseconds of several steps together one of which was slow
	Steps   [8]Held // the last ones that held the loop, in a ring
	Count   uint64  // how many there were
	read    int64   // the clock when it was read last
	readAt  uint64  // and the step
	wary    uint64  // up to this step the clock is read at each one
}

// A Held is a step that took Holds or more.
type Held struct {
	Began, Took int64
	Task        uint64 // 0: a callback, or it is not known which task
}

// Charge notes that the clock stands at now after a step, which was the one of the
// task with the cost and the number, or of none. It returns now.
func (p *Pace) Charge(step uint64, now int64, c *Cost, task uint64) int64 {
	took, steps := now-p.read, step-p.readAt
	p.read, p.readAt = now, step
	if steps == 0 {
		return now
	}
	if took >= int64(steps)*long {
		p.wary = step + Every
	}
	if steps > 1 && took >= Slow {
		p.Unknown += took
		c, task = nil, 0
	}
	if took >= Holds {
		p.Steps[p.Count%uint64(len(p.Steps))] = Held{now - took, took, task}
		p.Count++
	}
	if c != nil {
		c.add(took)
		if steps == 1 {
			c.measured(took)
		}
	}
	return now
}

// measured notes a step that was measured alone.
func (c *Cost) measured(took int64) {
	longest, slow := max(c.steps>>slowBits, uint32(min(took/unit, 1<<(32-slowBits)-1))), c.steps&mostSlow
	if took >= Slow {
		slow = min(slow+1, mostSlow)
	}
	c.steps = longest<<slowBits | slow
}
