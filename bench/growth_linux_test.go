package main

import (
	"testing"

	"github.com/rondo-go/rondo/inspect"
)

// TestGrowthIsForEachTask: an operation of a row about growth is done once for each of the tasks,
// as the loop's own counters say.
func TestGrowthIsForEachTask(t *testing.T) {
	o := tiny()
	o.many = 40
	const batches = 10
	for _, c := range growing {
		w := tally{t: t}
		c.mine(o)(&w, batches)
		// Tasks that take turns are up to a turn ahead of the one that starts the clock.
		if want := uint64((batches - 1) * o.many); w.done < want {
			t.Errorf("%s, %d batches of %d tasks: %d turns, switches or tasks, want %d", c.name, batches, o.many, w.done, want)
		}
	}
}

// A tally is a clock that counts what the only loop of this process has done.
type tally struct {
	t    *testing.T
	done uint64
}

func (w *tally) ResetTimer() { w.done = w.count() }
func (w *tally) StopTimer()  { w.done = w.count() - w.done }

func (w *tally) count() uint64 {
	p, err := inspect.Snapshot()
	if err != nil || len(p.Loops) != 1 {
		w.t.Error(p, err)
		return 0
	}
	l := p.Loops[0]
	return max(l.Turns, l.Switches, l.Spawned)
}
