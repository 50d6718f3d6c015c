package main

// Rates are the difference of two snapshots of a program: what happened how often between
// them.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

// A reading is a snapshot with what was counted since the one before.
type reading struct {
	picture *inspect.Program
	loops   []loopRates
	tasks   []taskRates // of all loops
	cycle   string      // tasks that wait for each other; "" if there are none
}

// loopRates is a loop with its rates a second. They are not known if the snapshot
// before does not have it.
type loopRates struct {
	*inspect.Loop
	known           bool
	switches, turns float64
	busy            float64 // the share of the time in which it did not sleep
}

// taskRates is a task with its switches a second since the snapshot before, and the share
// of the time that it was charged with.
type taskRates struct {
	*inspect.Task
	loop  *inspect.Loop
	known bool
	rate  float64
	busy  float64
}

// measure reads a snapshot beside the one before, which may be nil.
func measure(before, after *inspect.Program) *reading {
	r := &reading{picture: after, cycle: firstCycle(after)}
	for _, l := range after.Loops {
		g, old, apart := loopRates{Loop: l}, earlier(before, l), 0.0
		if old != nil {
			apart = (l.Uptime - old.Uptime).Seconds()
		}
		var known []*inspect.Task
		if apart > 0 {
			g.known = true
			g.switches, g.turns = since(l.Switches, old.Switches, apart), since(l.Turns, old.Turns, apart)
			g.busy = min(max(0, (l.Busy-old.Busy).Seconds()/apart), 1)
			known = inOrder(old.Tasks)
		}
		r.loops = append(r.loops, g)
		next := 0
		for _, t := range inOrder(l.Tasks) {
			m := taskRates{Task: t, loop: l}
			for next < len(known) && known[next].ID < t.ID {
				next++
			}
			if g.known {
				switches, busy := uint64(0), time.Duration(0)
				if next < len(known) && known[next].ID == t.ID {
					switches, busy = known[next].Switches, known[next].Busy
				}
				m.known, m.rate = true, since(t.Switches, switches, apart)
				m.busy = min(max(0, (t.Busy-busy).Seconds()/apart), 1)
			}
			r.tasks = append(r.tasks, m)
		}
	}
	return r
}

// longestCycle is how many characters of a cycle are shown at most.
const longestCycle = 1000

// firstCycle says which tasks wait for each other in a cycle, and how many more cycles
// there are. A cycle through several loops comes first.
func firstCycle(p *inspect.Program) string {
	var b strings.Builder
	n, text := len(p.Rings), ""
	if n > 0 {
		_ = (&inspect.Program{Loops: p.Loops, Rings: p.Rings[:1]}).WriteRings(&b)
		text = b.String()
	}
	for _, l := range p.Loops {
		if n += len(l.Cycles); text == "" && len(l.Cycles) > 0 {
			one := *l
			one.Cycles = l.Cycles[:1]
			_ = one.WriteCycles(&b)
			text = b.String()
		}
	}
	text = cut(strings.TrimSuffix(text, "\n"), longestCycle)
	if n > 1 {
		text += fmt.Sprintf(" (and %s)", plural(n-1, "more cycle"))
	}
	return text
}

// since returns how often a second a count rose.
func since(count, before uint64, seconds float64) float64 {
	if seconds <= 0 || count < before {
		return 0
	}
	return float64(count-before) / seconds
}

// earlier returns the loop as it was in a snapshot; nil if it was not there.
func earlier(p *inspect.Program, l *inspect.Loop) *inspect.Loop {
	if p != nil {
		for _, old := range p.Loops {
			if old.ID == l.ID {
				return old
			}
		}
	}
	return nil
}

// inOrder returns tasks in the order of their numbers, in which they nearly always
// are.
func inOrder(tasks []*inspect.Task) []*inspect.Task {
	byID := func(a, b *inspect.Task) int { return cmp.Compare(a.ID, b.ID) }
	if slices.IsSortedFunc(tasks, byID) {
		return tasks
	}
	return slices.SortedFunc(slices.Values(tasks), byID)
}
