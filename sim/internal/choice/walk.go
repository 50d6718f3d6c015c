package choice

// A walk takes the place of a seed in an exploration: the choices of all runs form a tree,
// and a run is a path from its root to a leaf.

import (
	"fmt"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
)

// A Walk is one path through the tree of choices, with what is known about the
// forks on it.
type Walk struct {
	Chosen []int  // the path
	Among  []int  // how many branches each fork has, as far as it is known
	depth  int    // forks that the present run has passed
	places []int  // of the branches of the present fork, for reuse
	lost   string // how the run differed from what is known
	Random bool   // whether Rand was called
	Fixed  bool   // the first branch is always taken, and this is no fork

	// Late is how late a loop wakes up at most; 0: timers are exact.
	Late time.Duration
}

// Choose chooses what runs next. The callbacks of the line are one branch.
func (w *Walk) Choose(n int, who func(i int) uint64) int {
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
func (w *Walk) pick(n int) int {
	if w.Fixed || n == 1 {
		return 0
	}
	d := w.depth
	w.depth++
	if d == len(w.Chosen) {
		w.Chosen = append(w.Chosen, 0)
	}
	if d == len(w.Among) {
		w.Among = append(w.Among, n)
	}
	if w.lost == "" && (w.Among[d] != n || w.Chosen[d] >= n) {
		w.lost = fmt.Sprintf("choice %d is among %d things", d+1, n)
	}
	if w.lost != "" {
		return 0
	}
	return w.Chosen[d]
}

// Oversleeps returns how late a loop wakes up that sleeps: not at all, or by Late, which is a fork.
func (w *Walk) Oversleeps() time.Duration {
	if w.Late == 0 || w.pick(2) == 0 {
		return 0
	}
	return w.Late
}

// Off says how the run that has ended left the path, or "".
func (w *Walk) Off() string {
	if w.lost == "" && w.depth < len(w.Chosen) {
		return fmt.Sprintf("it ends with choice %d", w.depth)
	}
	return w.lost
}
