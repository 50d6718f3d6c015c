package search

// An exploration runs a body in all orders of what is ready at the same time. The choices of all
// runs form a tree, and a run is a path from its root to a leaf. A branch that is not the first one
// is a deviation from the order of a real loop. Body runs once for each leaf: first the path
// without a deviation, then all with one, then all with two, and so on, because most mistakes
// need few. Each path but the first is an earlier one, up to a fork after its last
// deviation, with another branch there, and from then on always the first branch.

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/replay"
)

// Orders calls once for each path.
func Orders(t testing.TB, settings Settings, once func(a *Run) Outcome) {
	t.Helper()
	p, err := replay.Planned()
	if err != nil {
		t.Fatal(err)
	}
	s := &Series{Settings: settings, T: t, Before: t.Failed()}
	if p.Order != nil {
		s.replay(p.Order, once)
		return
	}
	e := exploration{Series: s, once: once, seen: make(map[uint64]bool)}
	e.run(&choice.Walk{Late: s.Late}, 0)
	for len(e.next) > 0 && (s.Deviations == 0 || e.deviations < s.Deviations) {
		level := e.next
		e.next, e.deviations = nil, e.deviations+1
		for _, p := range level {
			e.deviate(p)
		}
	}
	t.Logf("sim: %s%s", e.counted(), e.caveat())
	if names := s.probes.missed(); names != "" {
		t.Errorf("sim: in none of %d orders was this ever true, which must sometimes be: %s", e.orders, names)
	}
}

// An exploration is the state of Explore.
type exploration struct {
	*Series
	once       func(a *Run) Outcome // runs body
	orders     int
	deviations int    // of the paths that are tried now
	next       []path // those that have been tried, from which paths with one deviation more start
	random     bool   // whether a run called Rand

	seen map[uint64]bool // the orders of several loops; see Run.Seen
}

// counted says what was tried, with the condition on timers. Runs of several loops may be the
// same order: which of two goes first makes no difference where neither sees the other.
func (e *exploration) counted() string {
	timers := "each timer exact"
	if e.Late > 0 {
		timers = fmt.Sprintf("each timer exact or %v late", e.Late)
	}
	if e.Hosts {
		return fmt.Sprintf("%d orders in %d runs, with %s", len(e.seen), e.orders, timers)
	}
	return fmt.Sprintf("%d orders, with %s", e.orders, timers)
}

// run runs body along w, which may deviate again from the given fork on.
func (e *exploration) run(w *choice.Walk, from int) {
	t := e.T
	t.Helper()
	if e.orders == e.MaxOrders {
		t.Fatalf("sim: there are more than %d orders: use fewer tasks or fewer waits, or Test; all with fewer than %d choices that are not the first were tried, and none failed%s",
			e.orders, e.deviations, e.caveat())
	}
	e.orders++
	a := e.NewRun(&choice.Choices{Walk: w})
	a.Label = fmt.Sprintf("order %d", e.orders)
	o := e.once(a)
	if off := w.Off(); off != "" {
		t.Fatalf("sim: not deterministic: after the choices of an earlier run, %s\n%s", off, causes)
	}
	e.judge(a, o, replay.FormatOrder(w.Chosen))
	e.random = e.random || w.Random
	e.seen[a.Seen] = true
	if from < len(w.Among) {
		e.next = append(e.next, path{replay.Significant(w.Chosen), w.Among, from})
	}
}

// caveat says what was not tried although all orders were, or is "".
func (e *exploration) caveat() string {
	if len(e.next) > 0 && e.orders < e.MaxOrders {
		return fmt.Sprintf(", all with up to %d choices that are not the first", e.Deviations) + e.Files()
	}
	return e.Files()
}

func (e *exploration) Files() string {
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

// deviate runs body along each path with one deviation more than p.
func (e *exploration) deviate(p path) {
	e.T.Helper()
	for fork := p.from; fork < len(p.among); fork++ {
		for branch := 1; branch < p.among[fork]; branch++ {
			w := &choice.Walk{Chosen: make([]int, fork+1), Among: slices.Clone(p.among[:fork+1]), Late: e.Late}
			copy(w.Chosen, p.chosen)
			w.Chosen[fork] = branch
			e.run(w, fork+1)
		}
	}
}

// replay runs body in one order.
func (s *Series) replay(order []int, once func(a *Run) Outcome) {
	s.T.Helper()
	w := choice.Walk{Chosen: slices.Clone(replay.Significant(order)), Late: s.Late}
	a := s.NewRun(&choice.Choices{Walk: &w})
	a.Label = "order " + replay.FormatOrder(order)
	o := once(a)
	if off := w.Off(); off != "" {
		s.T.Fatalf("sim: %s=%s is no order of this test: %s", replay.Variable, replay.FormatOrder(order), off)
	}
	s.judge(a, o, replay.FormatOrder(order))
}
