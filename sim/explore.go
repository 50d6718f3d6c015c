package sim

// This file has Explore. The choices of all runs form a tree, and a run is a path
// from its root to a leaf. Explore walks the tree depth first and runs body once
// for each leaf. Each run repeats the previous path up to the last fork that has
// an untried branch, takes the next branch there, and from then on always the
// first.

import (
	"context"
	"fmt"
	"slices"
	"testing"
)

// Explore runs body as the main task of a new loop in every order that there is:
// once for each way of choosing, at each point, one of the things that could run
// next. The time of day and the numbers of [Rand] are the same in all runs.
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
	c = c.withDefaults("Explore")
	p, err := planned()
	if err != nil {
		t.Fatal(err)
	}
	s := &series{Config: c, t: t, before: t.Failed()}
	if p.order != nil {
		s.replay(p.order, body)
		return
	}
	var w walk
	for orders := 1; ; orders++ {
		a := s.newAttempt(&choices{walk: &w})
		a.label = fmt.Sprintf("order %d", orders)
		o := newWorld(a).execute(body)
		if off := w.off(); off != "" {
			t.Fatalf("sim: not deterministic: after the choices of an earlier run, %s\n%s", off, causes)
		}
		s.judge(a, o, formatOrder(w.chosen))
		if !w.advance() {
			t.Logf("sim: %d orders", orders)
			if names := s.probes.missed(); names != "" {
				t.Errorf("sim: in none of %d orders was this ever true, which must sometimes be: %s", orders, names)
			}
			return
		}
		if orders == c.MaxOrders {
			t.Fatalf("sim: there are more than %d orders: use fewer tasks or fewer waits, or Test", orders)
		}
	}
}

// replay runs body in one order.
func (s *series) replay(order []int, body func(ctx context.Context)) {
	s.t.Helper()
	w := walk{chosen: slices.Clone(significant(order))}
	a := s.newAttempt(&choices{walk: &w})
	a.label = "order " + formatOrder(order)
	o := newWorld(a).execute(body)
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
	lost   string // how the run differed from what is known
	random bool   // whether Rand was called
}

// choose follows the path, and after its end takes the first branch.
func (w *walk) choose(n int, _ func(i int) uint64) int {
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

// pick is choose for a choice that is not about what runs next.
func (w *walk) pick(n int) int { return w.choose(n, nil) }

// off says how the run that has ended left the path, or "".
func (w *walk) off() string {
	if w.lost == "" && w.depth < len(w.chosen) {
		return fmt.Sprintf("it ends with choice %d", w.depth)
	}
	return w.lost
}

// advance moves to the next path and reports whether there is one.
func (w *walk) advance() bool {
	for d := len(w.chosen) - 1; d >= 0; d-- {
		if w.chosen[d]+1 < w.among[d] {
			w.chosen[d]++
			w.chosen, w.among = w.chosen[:d+1], w.among[:d+1]
			w.depth = 0
			return true
		}
	}
	return false
}
