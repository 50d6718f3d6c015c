package order

// The strategy of priorities gives each task a random priority and always runs the task
// with the highest one. At a few random moments the task that would
// run gets the lowest. It finds mistakes that need the same task to be late again
// and again (Burckhardt and others: A Randomized Scheduler with Probabilistic
// Guarantees of Finding Bugs, 2010).
//
// A choice among n costs the time of log n comparisons: the things that are ready
// are sorted once, at the first choice of a turn, and the choices that follow take
// one after the other.

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/rondo-go/rondo/sim/internal/choice"
)

// priorities is the state of the strategy.
type priorities struct {
	salt    uint64
	changes []int             // the choices at which a priority changes
	lowered map[uint64]uint64 // the priorities that have changed, by task
	choices int

	// What remains of the present turn. Place i of the queue is place i+skip here,
	// because each choice takes one thing off the front of the queue.
	ids    []uint64 // what is in each place
	sorted []int    // the places, with the highest priority first
	where  []int    // where in sorted a place is
	skip   int
}

// newPriorities returns the strategy with so many changes of a priority.
func newPriorities(r *rand.Rand, changes int) *priorities {
	p := &priorities{salt: r.Uint64(), changes: make([]int, changes), lowered: map[uint64]uint64{}}
	// How long the run will be is not known. So the changes are spread evenly over
	// the orders of magnitude up to 4096 choices.
	for i := range p.changes {
		p.changes[i] = 1 + int(math.Exp2(12*r.Float64()))
	}
	return p
}

// priority returns the priority of a task. One that was lowered is below all
// others.
func (p *priorities) priority(id uint64) uint64 {
	if low, ok := p.lowered[id]; ok {
		return low
	}
	return choice.Mix(p.salt^id) | 1<<63
}

// choose is a strategy.
func (p *priorities) choose(n int, who func(i int) uint64) int {
	if !p.follows(n, who) {
		p.begin(n, who)
	}
	p.choices++
	for {
		place := p.sorted[p.skip]
		i := slices.Index(p.changes, p.choices)
		if i < 0 {
			return p.take(place)
		}
		p.changes = slices.Delete(p.changes, i, i+1)
		p.lowered[p.ids[place]] = 1<<62 - uint64(p.choices)*8 + uint64(len(p.changes))
		p.sort()
	}
}

// top returns the task with the highest priority, and counts as a choice. The queue is
// short. It is 0 if a callback is ready.
func (p *priorities) top(n int, who func(i int) uint64) (id uint64) {
	best := uint64(0)
	for i := range n {
		other := who(i)
		if other == 0 {
			return 0
		}
		if v := p.priority(other); v > best {
			id, best = other, v
		}
	}
	if n == 1 {
		return id
	}
	p.choices++
	if i := slices.Index(p.changes, p.choices); i >= 0 {
		p.changes = slices.Delete(p.changes, i, i+1)
		p.lowered[id] = 1<<62 - uint64(p.choices)*8 + uint64(len(p.changes))
		p.choices--
		return p.top(n, who)
	}
	return id
}

// follows reports whether this choice is the next one of the turn that p knows.
// The last choice of a turn is among two, so whatever follows it is a new turn.
func (p *priorities) follows(n int, who func(i int) uint64) bool {
	return n >= 2 && n == len(p.ids)-p.skip && who(0) == p.ids[p.skip] && who(n-1) == p.ids[len(p.ids)-1] &&
		who(p.sorted[p.skip]-p.skip) == p.ids[p.sorted[p.skip]]
}

// begin starts a turn with n things.
func (p *priorities) begin(n int, who func(i int) uint64) {
	p.ids, p.sorted, p.where, p.skip = p.ids[:0], p.sorted[:0], slices.Grow(p.where[:0], n)[:n], 0
	for i := range n {
		p.ids = append(p.ids, who(i))
		p.sorted = append(p.sorted, i)
	}
	p.sort()
}

// sort orders what remains. Of equal priorities, which callbacks have, the one in
// the first place comes first.
func (p *priorities) sort() {
	slices.SortFunc(p.sorted[p.skip:], func(a, b int) int {
		return cmp.Or(cmp.Compare(p.priority(p.ids[b]), p.priority(p.ids[a])), cmp.Compare(a, b))
	})
	for i, place := range p.sorted[p.skip:] {
		p.where[place] = p.skip + i
	}
}

// take returns the choice of a place, and moves what was in the front to it, as
// the loop does.
func (p *priorities) take(place int) int {
	front, choice := p.skip, place-p.skip
	p.skip++
	if place != front {
		p.ids[place] = p.ids[front]
		moved := p.where[front]
		p.sorted[moved], p.where[place] = place, moved
	}
	return choice
}
