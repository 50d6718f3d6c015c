package order

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rondo-go/rondo/sim/internal/choice"
)

// ready stands for the loop's queue: what is ready in one turn, as the numbers of
// tasks.
type ready []uint64

// run takes what choose chooses until one is left, as the loop does, and calls
// check with each choice.
func (q ready) run(choose strategy, check func(q ready, chosen int)) {
	for len(q) > 1 {
		i := choose(len(q), func(i int) uint64 { return q[i] })
		check(q, i)
		q[0], q[i] = q[i], q[0]
		q = q[1:]
	}
}

// turn returns n numbers, some of them those of callbacks, and with first 1 all
// different.
func turn(r *rand.Rand, n int) ready {
	var q ready
	for _, id := range r.Perm(n) {
		if r.IntN(8) == 0 {
			id = 0
		}
		q = append(q, uint64(id))
	}
	return q
}

// TestPriorities compares each choice with a scan of everything that is ready.
func TestPriorities(t *testing.T) {
	r := choice.Stream(1, choice.ForBody)
	for round := range 200 {
		p := newPriorities(r, round%3)
		left := len(p.changes)
		for range 30 {
			turn(r, 2+r.IntN(30)).run(p.choose, func(q ready, chosen int) {
				if len(p.changes) < left {
					left = len(p.changes)
					return // the task that was to run has the lowest priority
				}
				for _, id := range q {
					if p.priority(id) > p.priority(q[chosen]) {
						t.Fatalf("round %d: task %d was chosen from %v and %d has a higher priority", round, q[chosen], q, id)
					}
				}
			})
		}
	}
}

// TestPriorityOfOther: a turn that p does not know is begun anew, also one that has
// as many things as are left of the turn before.
func TestPriorityOfOther(t *testing.T) {
	p := newPriorities(choice.Stream(1, choice.ForBody), 0)
	for i, q := range []ready{{1, 2, 3, 4}, {5, 6, 7}, {5, 6, 7}, {8, 9}} {
		chosen := p.choose(len(q), func(i int) uint64 { return q[i] })
		for _, id := range q {
			if p.priority(id) > p.priority(q[chosen]) {
				t.Errorf("turn %d: task %d was chosen and not %d", i, q[chosen], id)
			}
		}
	}
}

// TestPriorityChanges: after a change the task that would have run comes last.
func TestPriorityChanges(t *testing.T) {
	p := newPriorities(choice.Stream(1, choice.ForBody), 0)
	var all []string
	for _, changes := range [][]int{nil, {1}, {6, 7}} {
		p.changes = changes
		p.choices = 0
		order := ""
		for range 2 {
			q := ready{1, 2, 3, 4, 5}
			q.run(p.choose, func(q ready, chosen int) { order += fmt.Sprint(q[chosen]) })
		}
		all = append(all, order)
	}
	first := all[0][:4]
	if all[0] != first+first {
		t.Fatal(all[0])
	}
	// Four of five are chosen in a turn, and the fifth is left.
	if last := all[1]; last[:3] != first[1:] || last[4:7] != first[1:] || last[:4] != last[4:] {
		t.Error(all)
	}
}

// TestPrioritiesAreFast: a turn of n looks at each place a few times, and not each
// choice at all of them.
func TestPrioritiesAreFast(t *testing.T) {
	r := choice.Stream(1, choice.ForBody)
	p, asked := newPriorities(r, 2), 0
	const n = 1000
	q := turn(r, n)
	for len(q) > 1 {
		i := p.choose(len(q), func(i int) uint64 { asked++; return q[i] })
		q[0], q[i] = q[i], q[0]
		q = q[1:]
	}
	if asked > 5*n {
		t.Errorf("a turn of %d looked %d times who is in a place", n, asked)
	}
}

// TestPriorityLowered: of tasks that were lowered the one that was lowered last comes last, also if
// that is at one moment.
func TestPriorityLowered(t *testing.T) {
	for _, changes := range [][]int{{1, 2, 3}, {1, 1, 1}} {
		for what, choose := range map[string]func(p *priorities) uint64{
			"one of a turn": func(p *priorities) uint64 { return p.top(3, func(i int) uint64 { return uint64(i + 1) }) },
			"all of a turn": func(p *priorities) uint64 {
				return uint64(p.choose(3, func(i int) uint64 { return uint64(i + 1) }) + 1)
			},
		} {
			p := newPriorities(choice.Stream(1, choice.ForBody), 0)
			var all, want []uint64
			for range 2 {
				want = append(want, choose(p))
			}
			if want[0] != want[1] {
				t.Errorf("%s: %v without a change", what, want)
			}
			p.changes, p.choices = slices.Clone(changes), 0
			for range 4 {
				all = append(all, choose(p))
			}
			if len(p.changes) > 0 || all[2] != want[0] || all[3] != want[0] || changes[1] == 2 && (all[0] == want[0] || all[1] == want[0] || all[0] == all[1]) {
				t.Errorf("%s: after changes at %v: %v, and before them %v", what, changes, all, want)
			}
		}
	}
}

// TestPriorityMoments: priorities change at moments of all orders of magnitude.
func TestPriorityMoments(t *testing.T) {
	p := newPriorities(choice.Stream(1, choice.ForBody), 1000)
	slices.Sort(p.changes)
	if least, middle, most := p.changes[0], p.changes[500], p.changes[999]; least < 1 || middle < 32 || middle > 128 || most < 2048 || most > 4097 {
		t.Error(least, middle, most)
	}
}

// TestMostly: a strategy that is mostly another one.
func TestMostly(t *testing.T) {
	s, last := mostly(newest, 4, choice.Stream(1, choice.ForBody)), 0
	for range 1000 {
		if s(10, nil) == 9 {
			last++
		}
	}
	if last < 730 || last > 820 {
		t.Errorf("it chooses the newest %d times of 1000", last)
	}
}
