package sim

// This file has Explore. The choices of all runs form a tree, and a run is one
// way from its root to a leaf. The tree is walked depth first by running body
// again for each leaf: with the choices that lead to the fork at which the last
// way is to be left, then the next choice there, then the first everywhere.

import (
	"context"
	"fmt"
	"slices"
	"testing"
)

// Explore runs body as the main task of a loop of its own in every order that
// there is: once for each way of choosing, at each point, one of what could run
// next. The time of day and [Rand] are the same in all runs.
//
// The first order to fail ends the test, for the same reasons as in [Test], with
// a report and a command that runs this order again: RONDO_SEED is then the list
// of choices, as "x:0,2,1". Seeds in that variable change nothing here, nor
// does such a list in Test.
//
// The number of orders grows very fast: n tasks that can all run make n! for
// each turn that they take together. Explore fails if there are more than
// [OrdersMax], or if body does not do the same when the same is chosen.
func Explore(t testing.TB, body func(ctx context.Context)) {
	t.Helper()
	p, err := planned()
	if err != nil {
		t.Fatal(err)
	}
	before := t.Failed()
	if p.order != nil {
		replay(t, p.order, body, before)
		return
	}
	var w walk
	for orders := 1; ; orders++ {
		world := newWorld(0, w.choose)
		world.label = fmt.Sprintf("order %d", orders)
		o := world.run(body)
		if off := w.off(); off != "" {
			t.Fatalf("sim: not deterministic: after the choices of an earlier run, %s\n%s", off, causes)
		}
		verdict(t, world, o, before, formatOrder(w.chosen))
		if !w.advance() {
			t.Logf("sim: %d orders", orders)
			return
		}
		if orders == OrdersMax {
			t.Fatalf("sim: there are more than %d orders: use fewer tasks or fewer waits, or Test", OrdersMax)
		}
	}
}

// replay runs body in one order.
func replay(t testing.TB, order []int, body func(ctx context.Context), before bool) {
	t.Helper()
	w := walk{chosen: slices.Clone(order)}
	world := newWorld(0, w.choose)
	world.label = "order " + formatOrder(order)
	o := world.run(body)
	if off := w.off(); off != "" {
		t.Fatalf("sim: %s=%s is no order of this test: %s", variable, formatOrder(order), off)
	}
	verdict(t, world, o, before, formatOrder(order))
}

// A walk is one way through the tree of choices, and what is known of the forks
// that it comes by.
type walk struct {
	chosen []int  // the way
	among  []int  // how many ways there are at each fork, as far as it is known
	depth  int    // forks that the present run has passed
	lost   string // where it was not what was known
}

// choose follows the way, and from its end on chooses the first.
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

// off says how the run that has ended left the way, or nothing.
func (w *walk) off() string {
	if w.lost == "" && w.depth < len(w.chosen) {
		return fmt.Sprintf("it ends with choice %d", w.depth)
	}
	return w.lost
}

// advance goes on to the next way and reports whether there is one.
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
