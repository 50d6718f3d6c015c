package sim

// This file has Explore. The choices of all runs form a tree, and a run is one
// way from its root to a leaf. The tree is walked depth first by running body
// again for each leaf: with the choices that lead to the fork at which the last
// run is to be left, then the next choice there, then the first everywhere.

import (
	"context"
	"fmt"
	"testing"
)

// Explore runs body as the main task of a loop of its own in every order that
// there is: once for each way of choosing, at each point, one of what could run
// next. Time of day and [Rand] are the same in all runs.
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
	tree := tree{chosen: p.choices}
	for orders := 1; ; orders++ {
		tree.depth, tree.broken = 0, ""
		w := newWorld(0, tree.pick)
		o := w.run(body)
		w.label = fmt.Sprintf("order %d", orders)
		if p.choices != nil {
			w.label = "order " + formatChoices(tree.chosen)
		}
		if tree.depth < len(tree.chosen) && tree.broken == "" {
			tree.broken = fmt.Sprintf("it ended after %d choices", tree.depth)
		}
		if tree.broken != "" {
			if p.choices != nil {
				t.Fatalf("sim: %s=%s is no order of this test: %s", variable, formatChoices(p.choices), tree.broken)
			}
			t.Fatalf("sim: not deterministic: with the choices of an earlier run, %s\n%s", tree.broken, causes)
		}
		verdict(t, w, o, before, formatChoices(tree.chosen))
		if p.choices != nil {
			return
		}
		if !tree.advance() {
			t.Logf("sim: %d orders", orders)
			return
		}
		if orders == OrdersMax {
			t.Fatalf("sim: there are more than %d orders: use fewer tasks or fewer waits, or Test", OrdersMax)
		}
	}
}

// A tree is the place in the tree of choices that a run has come to.
type tree struct {
	chosen []int // the choices on the way to the leaf of the present run
	among  []int // how many there were at each; 0 if that is not known
	depth  int
	broken string // how the run has left the way
}

// pick follows the way, and from its end on chooses the first.
func (t *tree) pick(n int) int {
	d := t.depth
	t.depth++
	for len(t.chosen) <= d {
		t.chosen = append(t.chosen, 0)
	}
	for len(t.among) <= d {
		t.among = append(t.among, 0)
	}
	switch {
	case t.broken != "":
		return 0
	case t.among[d] != 0 && t.among[d] != n:
		t.broken = fmt.Sprintf("choice %d is among %d things and was among %d", d+1, n, t.among[d])
		return 0
	case t.chosen[d] >= n:
		t.broken = fmt.Sprintf("choice %d is among %d things", d+1, n)
		return 0
	}
	t.among[d] = n
	return t.chosen[d]
}

// advance goes on to the next leaf and reports whether there is one.
func (t *tree) advance() bool {
	for d := len(t.chosen) - 1; d >= 0; d-- {
		if t.chosen[d]+1 < t.among[d] {
			t.chosen = t.chosen[:d+1]
			t.among = t.among[:d+1]
			t.chosen[d]++
			return true
		}
	}
	return false
}
