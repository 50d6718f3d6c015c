// Package order decides which of the ready tasks and callbacks of a loop runs next, and
// injects delays. It records each decision as a choice, and repeats a list of them.
package order

import (
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/sim/internal/choice"
)

// An Order decides what runs next on one loop.
//
// Its choices are recorded by what they made run earlier: the key has the task and the
// number of its step, and the value is one more than how many things had run in that
// turn before it. So the record of a task's step holds also where other tasks take
// more or fewer steps.
type Order struct {
	choices     *choice.Choices
	asked       func(i int) uint64 // what the loop says of the present choice
	who         func(i int) uint64 // TaskAt, bound once
	host        uint64
	now         func() int64 // virtual time
	number      uint64       // of the host in the numbers of tasks that choices are told of
	pick        strategy
	late        delayer
	share       share
	Calm        bool              // nothing is late any more
	*priorities                   // those of late.strict
	tasks       map[uint64]*steps // by number; nil if nothing is recorded or repeated
	last        int               // among how many things the last choice was
	busy        int               // how many turns have begun since the loop slept
	picks       int               // how many things have run in this turn before
	count       uint32            // choices so far
}

// steps is what an order knows of a task.
type steps struct {
	place      uint64
	taken      uint32
	operations uint32 // of those at which it might have given others a turn
	children   uint64
}

// New returns the order of a host: its number, and in the lowest byte which of its
// lives it is. 0 is the loop of Test.
func New(c *choice.Choices, host uint64, now func() int64) *Order {
	o := &Order{choices: c, host: host, now: now, number: host >> 8, pick: oldest}
	o.who = o.TaskAt
	if c.Orders() {
		o.pick = seeded(c, host)
		if o.late.lateness = latenessOf(c); !o.late.none() {
			o.late.rand = c.Stream(c.Seed^host<<32, choice.ForStall)
			o.priorities = newPriorities(o.late.rand, 2)
		}
	}
	if c.Drawn() {
		o.share = shareOf(c, host)
	}
	if !o.late.none() || c.Given != nil {
		o.late.tasks = make(map[uint64]*delay)
	}
	if c.Records || c.Given != nil {
		o.tasks = make(map[uint64]*steps)
	}
	return o
}

// Started is called when a task starts, if o has tasks. Its place is that of its parent
// with the number of the child, which is the same in other orders.
func (o *Order) Started(id, parent uint64) {
	above := o.task(parent)
	above.children++
	o.tasks[id] = &steps{place: o.host<<32 | choice.Mix(above.place<<8+above.children)>>32}
}

// Stepped is called when a task runs, if o has tasks.
func (o *Order) Stepped(id uint64) { o.task(id).taken++ }

func (o *Order) task(id uint64) *steps {
	t := o.tasks[id]
	if t == nil {
		t = &steps{place: o.host<<32 | id}
		o.tasks[id] = t
	}
	return t
}

// Choose is a driver's Order. A result ^i says that what is at place i does not run now.
func (o *Order) Choose(n int, asked func(i int) uint64) int {
	c, who := o.choices, o.who
	o.asked = asked
	if c.Walk != nil {
		o.last = n
		return c.Walk.Choose(n, asked)
	}
	begins := o.Begins(n)
	o.last = n
	if begins {
		o.picks = 0
		o.busy++
	}
	if !o.Calm && (!o.late.none() || c.Given != nil) {
		if i := o.skipped(n, who, begins); i >= 0 {
			return ^i
		}
	}
	i := 0
	switch {
	case n == 1:
	case c.Given != nil:
		i = o.given(n, who)
	default:
		if i = o.pick(n, who); i > 0 && c.Renewed() && o.tasks != nil {
			if k, _ := o.record(who(i), i); !c.Keeps(k) {
				i = 0
			}
		}
	}
	if i > 0 && o.tasks != nil {
		o.note(i, who)
	}
	o.picks++
	o.count++
	return i
}

// Begins reports whether a choice among n is the first of a turn: the last one of a turn is
// among one.
func (o *Order) Begins(n int) bool { return n != o.last-1 }

// Follows reports whether o must be told which tasks start and run.
func (o *Order) Follows() bool { return o.tasks != nil }

// TaskAt returns the number of the task at place i, or 0 for a callback.
func (o *Order) TaskAt(i int) uint64 {
	if id := o.asked(i); id != driver.Line {
		return id
	}
	return 0
}

// note notes the choice of what is at place i.
func (o *Order) note(i int, who func(i int) uint64) {
	c := o.choices
	k, v := o.record(who(i), i)
	if c.Told != nil {
		c.Who = o.number<<32 | who(i)
		for j := range i {
			c.Before = append(c.Before, o.number<<32|who(j))
		}
	}
	c.Note(k, v)
}

// record returns the choice of what is at place i, which has the number id.
func (o *Order) record(id uint64, i int) (choice.Key, uint64) {
	if id == 0 {
		return choice.Key{Purpose: choice.ForCallback, Place: o.host, Ordinal: o.count}, uint64(i)
	}
	t := o.task(id)
	return choice.Key{Purpose: choice.ForOrder, Place: t.place, Ordinal: t.taken}, uint64(o.picks) + 1
}

// given returns the choice that the list has for this moment.
func (o *Order) given(n int, who func(i int) uint64) int {
	list := o.choices.Given
	if i := list[choice.Key{Purpose: choice.ForCallback, Place: o.host, Ordinal: o.count}]; i > 0 && who(int(min(i, uint64(n-1)))) == 0 {
		return int(min(i, uint64(n-1)))
	}
	for i := range n {
		if id := who(i); id != 0 {
			if k, v := o.record(id, i); list[k] == v {
				return i
			}
		}
	}
	return 0
}

// DrawsShares is that of driver.Simulation.
func (o *Order) DrawsShares() bool {
	return o.share.ends > 0 || o.choices.Given != nil && o.choices.Shares
}

// EndsShare is that of driver.Simulation.
func (o *Order) EndsShare(task uint64) bool {
	ends := o.share.ends > 0 && o.share.rand.IntN(1e6) < o.share.ends
	if o.tasks == nil {
		return ends
	}
	t := o.task(task)
	k := choice.Key{Purpose: choice.ForShare, Place: t.place, Ordinal: t.operations}
	t.operations++
	if given := o.choices.Given; given != nil {
		ends = given[k] != 0
	}
	ends = ends && o.choices.Keeps(k)
	if ends {
		o.choices.Who = o.number<<32 | task
		o.choices.Note(k, 1)
	}
	return ends
}
