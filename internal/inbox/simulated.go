package inbox

// The inbox of a simulated loop has an order that a seed can repeat.
//
// The law: a simulation runs what was handed in in an order in which a real loop could
// run it. A real loop runs all of it in the order in which it came. In a simulation
//
//   - what comes from the simulation itself, such as a task of the loop or of another
//     host, runs in the order in which it came, and is taken at the next turn. When it
//     comes is a choice of the seed already, because the seed chooses who runs when;
//   - what comes from goroutines is taken when the loop has nothing else to run, because
//     the moment at which it comes is no part of what a seed repeats. What nobody waits
//     for, as Post hands it in, runs in the order in which it came. Results for tasks come
//     after it: a function may post before it returns, and a result must not overtake that;
//   - results for several tasks that have come by then run in any order. They come from
//     goroutines that run at the same time, so a real loop may get them in any order.
//
// So what runs in the order in which it came is a line. The places of the line in the
// loop's queue are chosen like all others, and at each of them the first of the line runs.

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/rondo-go/rondo/internal/ring"
)

// simulated is a part of the inbox of a simulated loop.
type simulated[E any] struct {
	task func(E) uint64 // for which task it is a result; 0: for none
	open func() bool    // whether the loop takes what goroutines hand in
	own  []E            // what comes from the simulation; guarded by mu
	owns atomic.Int32   // how much that is
	line ring.Ring[E]   // what has a place in the loop's queue, and runs in this order
	late int            // how often in a row only what is own was taken
}

// lateMost is how large late becomes: a callback may Post itself again until a goroutine has
// handed something in.
const lateMost = 64

// Simulate makes it the inbox of a simulated loop. task returns the number of the task
// that waits for a result, and 0 for what is none; open reports whether the loop takes
// what goroutines hand in. It is called before all else.
func (b *Inbox[E]) Simulate(task func(E) uint64, open func() bool) {
	b.sim = &simulated[E]{task: task, open: open}
}

func (s *simulated[E]) pending() bool { return s.owns.Load() > 0 || s.open() }

// put hands e in for a caller that is a part of the simulation.
func (s *simulated[E]) put(e E) (wake bool) {
	s.own = append(s.own, e)
	return s.owns.Add(1) == 1
}

// Own reports whether something is to be taken that comes from the simulation.
func (b *Inbox[E]) Own() bool { return b.sim != nil && b.sim.owns.Load() > 0 }

// Line puts e at the end of the line. The caller puts it into the queue.
func (b *Inbox[E]) Line(e E) { b.sim.line.Add(e) }

// Next returns the first of the line. It is called where a place of the line is reached in
// the queue: what is put there may be another one.
func (b *Inbox[E]) Next() E { return b.sim.line.Take() }

// takeSimulated is Take.
func (b *Inbox[E]) takeSimulated(add func(E)) uint64 {
	some := b.takeSome()
	for _, e := range some {
		add(e)
		if b.sim.task(e) == 0 {
			b.Line(e)
		}
	}
	return uint64(len(some))
}

// takeSome takes what may run next.
func (b *Inbox[E]) takeSome() (some []E) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.sim
	some, s.own = s.own, nil
	s.owns.Store(0)
	if len(some) > 0 && (len(b.in) == 0 || s.late < lateMost) {
		s.late++
	} else {
		s.late = 0
		slices.SortStableFunc(b.in, func(x, y E) int { return cmp.Compare(s.task(x), s.task(y)) })
		n := len(b.in)
		if i := slices.IndexFunc(b.in, func(e E) bool { return s.task(e) != 0 }); i > 0 {
			n = i
		}
		some, b.in = append(some, b.in[:n]...), b.in[n:]
	}
	b.some.Store(len(b.in) > 0)
	return some
}
