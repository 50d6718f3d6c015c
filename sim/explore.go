package sim

// This file has Explore. The choices of all runs form a tree, and a run is a path
// from its root to a leaf. A branch that is not the first one is a deviation from the
// order of a real loop. Explore runs body once for each leaf: first the path without
// a deviation, then all with one, then all with two, and so on, because most mistakes
// need few. Each path but the first is an earlier one, up to a fork after its last
// deviation, with another branch there, and from then on always the first branch.

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/rondo-go/rondo/internal/driver"
)

// Explore runs body as the main task of a new loop in every order that there is:
// once for each way of choosing, at each point, one of the things that could run
// next, and for each number that [Choose] may return. The time of day and the numbers of
// [Rand] are the same in all runs: a body that calls Rand is tried with one sequence of
// them, and the log says so. Explore begins with the order of a real loop, and goes on
// with those that deviate from it once, twice, and so on.
//
// The first order that fails ends the test, for the same reasons as in
// [Config.Test], with a report and a command that runs this order again:
// RONDO_SEED is then the list of choices, as "x:0,2,1". Explore ignores seeds in
// that variable, and Test ignores such a list.
//
// The number of orders grows very fast: n tasks that can all run have n! orders
// for each turn that they take together. Explore fails the test if there are more
// than c.MaxOrders, or if body does not do the same when the same is chosen.
func (c Config) Explore(t testing.TB, body func(ctx context.Context)) {
	t.Helper()
	if body == nil {
		panic("sim: Explore with a nil function: it needs the body of the test")
	}
	c.explore(t, "Explore", func(a *attempt) outcome { return newWorld(a).execute(body) })
}

// explore calls once for each path.
func (c Config) explore(t testing.TB, call string, once func(a *attempt) outcome) {
	t.Helper()
	c = c.withDefaults(call)
	if c.Goroutines {
		panic("sim: Config.Goroutines needs Test with a *testing.T: use a Config without it")
	}
	p, err := planned()
	if err != nil {
		t.Fatal(err)
	}
	s := &series{Config: c, t: t, before: t.Failed()}
	if p.order != nil {
		s.replay(p.order, once)
		return
	}
	e := exploration{series: s, once: once}
	e.run(&walk{}, 0)
	for len(e.next) > 0 && (c.Deviations == 0 || e.deviations < c.Deviations) {
		level := e.next
		e.next, e.deviations = nil, e.deviations+1
		for _, p := range level {
			for w, fork := range p.branches() {
				e.run(w, fork+1)
			}
		}
	}
	t.Logf("sim: %d orders%s", e.orders, e.caveat())
	if names := s.probes.missed(); names != "" {
		t.Errorf("sim: in none of %d orders was this ever true, which must sometimes be: %s", e.orders, names)
	}
}

// An exploration is the state of Explore.
type exploration struct {
	*series
	once       func(a *attempt) outcome // runs body
	orders     int
	deviations int    // of the paths that are tried now
	next       []path // those that have been tried, from which paths with one deviation more start
	random     bool   // whether a run called Rand
}

// run runs body along w, which may deviate again from the given fork on.
func (e *exploration) run(w *walk, from int) {
	t := e.t
	t.Helper()
	if e.orders == e.MaxOrders {
		t.Fatalf("sim: there are more than %d orders: use fewer tasks or fewer waits, or Test; all with fewer than %d choices that are not the first were tried, and none failed%s",
			e.orders, e.deviations, e.caveat())
	}
	e.orders++
	a := e.newAttempt(&choices{walk: w})
	a.label = fmt.Sprintf("order %d", e.orders)
	o := e.once(a)
	if off := w.off(); off != "" {
		t.Fatalf("sim: not deterministic: after the choices of an earlier run, %s\n%s", off, causes)
	}
	e.judge(a, o, formatOrder(w.chosen))
	e.random = e.random || w.random
	if from < len(w.among) {
		e.next = append(e.next, path{significant(w.chosen), w.among, from})
	}
}

// caveat says what was not tried although all orders were, or is "".
func (e *exploration) caveat() string {
	if len(e.next) > 0 && e.orders < e.MaxOrders {
		return fmt.Sprintf(", all with up to %d choices that are not the first", e.Deviations) + e.drawn()
	}
	return e.drawn()
}

func (e *exploration) drawn() string {
	if !e.random {
		return ""
	}
	return "; the body calls Rand, of whose numbers one sequence was tried: use Choose for a proof"
}

// A path is what a run has chosen. Paths that deviate from it once more do so from a fork
// on.
type path struct {
	chosen []int // up to the last deviation
	among  []int // of all forks
	from   int
}

// branches ranges over the paths with one deviation more, and the forks at which they
// deviate.
func (p path) branches() iter.Seq2[*walk, int] {
	return func(yield func(*walk, int) bool) {
		for fork := p.from; fork < len(p.among); fork++ {
			for branch := 1; branch < p.among[fork]; branch++ {
				w := &walk{chosen: make([]int, fork+1), among: slices.Clone(p.among[:fork+1])}
				copy(w.chosen, p.chosen)
				w.chosen[fork] = branch
				if !yield(w, fork) {
					return
				}
			}
		}
	}
}

// replay runs body in one order.
func (s *series) replay(order []int, once func(a *attempt) outcome) {
	s.t.Helper()
	w := walk{chosen: slices.Clone(significant(order))}
	a := s.newAttempt(&choices{walk: &w})
	a.label = "order " + formatOrder(order)
	o := once(a)
	if off := w.off(); off != "" {
		s.t.Fatalf("sim: %s=%s is no order of this test: %s", variable, formatOrder(order), off)
	}
	s.judge(a, o, formatOrder(order))
}

// A walk is one path through the tree of choices, with what is known about the
// forks on it.
type walk struct {
	chosen []int  // the path
	among  []int  // how many branches each fork has, as far as it is known
	depth  int    // forks that the present run has passed
	places []int  // of the branches of the present fork, for reuse
	lost   string // how the run differed from what is known
	random bool   // whether Rand was called
	fixed  bool   // the first branch is always taken, and this is no fork
}

// choose chooses what runs next. The callbacks of the line are one branch.
func (w *walk) choose(n int, who func(i int) uint64) int {
	w.places = w.places[:0]
	line := false
	for i := range n {
		is := who(i) == driver.Line
		if !is || !line {
			w.places = append(w.places, i)
		}
		line = line || is
	}
	return w.places[w.pick(len(w.places))]
}

// pick chooses one of n branches: it follows the path, and after its end takes the first.
func (w *walk) pick(n int) int {
	if w.fixed || n == 1 {
		return 0
	}
	d := w.depth
	w.depth++
	if d == len(w.chosen) {
		w.chosen = append(w.chosen, 0)
	}
	if d == len(w.among) {
		w.among = append(w.among, n)
	}
	if w.lost == "" && (w.among[d] != n || w.chosen[d] >= n) {
		w.lost = fmt.Sprintf("choice %d is among %d things", d+1, n)
	}
	if w.lost != "" {
		return 0
	}
	return w.chosen[d]
}

// off says how the run that has ended left the path, or "".
func (w *walk) off() string {
	if w.lost == "" && w.depth < len(w.chosen) {
		return fmt.Sprintf("it ends with choice %d", w.depth)
	}
	return w.lost
}
