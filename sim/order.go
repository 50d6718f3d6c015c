package sim

// This file has the ways in which a seed chooses what runs next, and how such a choice
// is recorded and repeated. priority.go has one more way.

import (
	"math/rand/v2"

	"github.com/rondo-go/rondo/internal/driver"
)

// stream returns the random numbers of a seed for a purpose.
func stream(seed uint64, p purpose) *rand.Rand {
	return rand.New(rand.NewPCG(mix(seed), mix(seed^mix(uint64(p)))))
}

// mix spreads the bits of x, so that neighbours have nothing in common. It is the
// finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
// Generators, 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// An order decides what runs next on one loop.
//
// Its choices are recorded by what they made run earlier: the key has the task and the
// number of its step, and the value is one more than how many things had run in that
// turn before it. So the record of a task's step holds also where other tasks take
// more or fewer steps.
type order struct {
	choices     *choices
	asked       func(i int) uint64 // what the loop says of the present choice
	who         func(i int) uint64 // taskAt, bound once
	host        uint64
	number      uint64 // what the account puts before the numbers of tasks
	pick        strategy
	late        delays
	calm        bool              // nothing is late any more
	*priorities                   // those of late.strict
	tasks       map[uint64]*steps // by number; nil if nothing is recorded or repeated
	last        int               // among how many things the last choice was
	busy        int               // how many turns have begun since the loop slept
	picks       int               // how many things have run in this turn before
	count       uint32            // choices so far
}

// steps is what an order knows of a task.
type steps struct {
	place    uint64
	taken    uint32
	children uint64
}

// newOrder returns the order of a host: its number, and in the lowest byte which of its
// lives it is. 0 is the loop of Test.
func newOrder(c *choices, host uint64) *order {
	o := &order{choices: c, host: host, number: host >> 8, pick: oldest}
	o.who = o.taskAt
	if c.drawn() {
		o.pick = seeded(c.seed, host)
		if o.late.lateness = c.late(); !o.late.none() {
			o.late.rand = stream(c.seed^host<<32, forStall)
			o.priorities = newPriorities(o.late.rand, 2)
		}
	}
	if !o.late.none() || c.given != nil {
		o.late.tasks = make(map[uint64]*delayed)
	}
	if c.records || c.given != nil {
		o.tasks = make(map[uint64]*steps)
	}
	return o
}

// started is called when a task starts, if o has tasks. Its place is that of its parent
// with the number of the child, which is the same in other orders.
func (o *order) started(id, parent uint64) {
	above := o.task(parent)
	above.children++
	o.tasks[id] = &steps{place: o.host<<32 | mix(above.place<<8+above.children)>>32}
}

// stepped is called when a task runs, if o has tasks.
func (o *order) stepped(id uint64) { o.task(id).taken++ }

func (o *order) task(id uint64) *steps {
	t := o.tasks[id]
	if t == nil {
		t = &steps{place: o.host<<32 | id}
		o.tasks[id] = t
	}
	return t
}

// choose is a driver's Order. A result ^i says that what is at place i does not run now.
func (o *order) choose(n int, asked func(i int) uint64) int {
	c, who := o.choices, o.who
	o.asked = asked
	if c.walk != nil {
		o.last = n
		return c.walk.choose(n, asked)
	}
	begins := n != o.last-1 // the last choice of a turn is among one
	o.last = n
	if begins {
		o.picks = 0
		o.busy++
	}
	if !o.calm && (!o.late.none() || c.given != nil) {
		if i := o.delays(n, who, begins); i >= 0 {
			return ^i
		}
	}
	i := 0
	switch {
	case n == 1:
	case c.given != nil:
		i = o.given(n, who)
	default:
		i = o.pick(n, who)
	}
	if i > 0 && o.tasks != nil {
		o.note(i, who)
	}
	o.picks++
	o.count++
	return i
}

// taskAt returns the number of the task at place i, or 0 for a callback.
func (o *order) taskAt(i int) uint64 {
	if id := o.asked(i); id != driver.Line {
		return id
	}
	return 0
}

// note notes the choice of what is at place i.
func (o *order) note(i int, who func(i int) uint64) {
	c := o.choices
	k, v := o.record(who(i), i)
	if c.account != nil {
		c.who = o.number<<32 | who(i)
		for j := range i {
			c.before = append(c.before, o.number<<32|who(j))
		}
	}
	c.note(k, v)
}

// record returns the choice of what is at place i, which has the number id.
func (o *order) record(id uint64, i int) (key, uint64) {
	if id == 0 {
		return key{purpose: forCallback, place: o.host, ordinal: o.count}, uint64(i)
	}
	t := o.task(id)
	return key{purpose: forOrder, place: t.place, ordinal: t.taken}, uint64(o.picks) + 1
}

// given returns the choice that the list has for this moment.
func (o *order) given(n int, who func(i int) uint64) int {
	list := o.choices.given
	if i := list[key{purpose: forCallback, place: o.host, ordinal: o.count}]; i > 0 && who(int(min(i, uint64(n-1)))) == 0 {
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

// A strategy chooses one of n things that can run. Their places are those of the
// loop's queue: the oldest is in place 0 until choices have mixed them. who returns
// the number of the task at a place, or 0 for a callback.
//
// The loop then runs what was chosen, after it has moved what was in place 0 to the
// chosen place.
type strategy func(n int, who func(i int) uint64) int

// seeded returns the strategy of a seed. No single way of choosing finds all
// mistakes. So of eight seeds in a row four choose evenly, and each of the others
// has a bias that reaches further into one corner. Seed 0 is the order of a real
// loop.
func seeded(seed, host uint64) strategy {
	r := stream(seed^host<<32, forOrder)
	if seed == 0 {
		return oldest
	}
	switch seed % 8 {
	case 2:
		return newPriorities(r, 1).choose
	case 4:
		return mostly(newest, 4, r)
	case 6:
		return newPriorities(r, 2).choose
	case 0:
		return mostly(oldest, 4, r)
	}
	return evenly(r)
}

func oldest(int, func(i int) uint64) int     { return 0 }
func newest(n int, _ func(i int) uint64) int { return n - 1 }

func evenly(r *rand.Rand) strategy {
	return func(n int, _ func(i int) uint64) int { return r.IntN(n) }
}

// mostly is s, except that one choice in every is even.
func mostly(s strategy, every int, r *rand.Rand) strategy {
	return func(n int, who func(i int) uint64) int {
		if r.IntN(every) == 0 {
			return r.IntN(n)
		}
		return s(n, who)
	}
}
