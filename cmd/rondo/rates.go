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

// A reading is a snapshot with what was counted since the one before. Of the tasks, which may be a
// million, it has only what the screen needs.
type reading struct {
	picture *inspect.Program
	loops   []loopRates
	size    int    // how many tasks all loops have
	cycle   string // tasks that wait for each other; "" if there are none
}

// loopRates is a loop with its rates a second. They are not known if the snapshot
// before does not have it.
type loopRates struct {
	*inspect.Loop
	tasks           []inspect.Brief // in the order of their numbers
	rates           []rates         // of these
	first           int             // the place of the first among the tasks of all loops
	known           bool
	switches, turns float64
	busy            float64 // the share of the time in which it did not sleep
}

// rates are those of a task: its switches a second since the snapshot before, and the share of the
// time that it was charged with.
type rates struct{ rate, busy float32 }

// taskRates is a task with its rates.
type taskRates struct {
	*inspect.Brief
	loop *loopRates
	rates
}

// task returns a task by its place among those of all loops.
func (r *reading) task(i int) taskRates {
	k := len(r.loops) - 1
	for r.loops[k].first > i {
		k--
	}
	g := &r.loops[k]
	i -= g.first
	return taskRates{&g.tasks[i], g, g.rates[i]}
}

// place returns the place of a task, or -1 if the snapshot does not have it.
func (r *reading) place(of taskKey) int {
	for i := range r.loops {
		if g := &r.loops[i]; g.ID == of.loop {
			if k, ok := slices.BinarySearchFunc(g.tasks, of.task, func(b inspect.Brief, id uint64) int { return cmp.Compare(b.ID, id) }); ok {
				return g.first + k
			}
		}
	}
	return -1
}

// whole returns all that is known of a task; nil if it was read in short only.
func (m taskRates) whole() *inspect.Task {
	for _, t := range m.loop.Tasks {
		if t.ID == m.ID {
			return t
		}
	}
	return nil
}

// measure reads a snapshot beside the one before, which may be nil.
func measure(before *reading, after *inspect.Program) *reading {
	r := &reading{picture: after, cycle: firstCycle(after), loops: make([]loopRates, 0, len(after.Loops))}
	for _, l := range after.Loops {
		g, old, apart := loopRates{Loop: l, tasks: briefs(l), first: r.size}, before.loop(l), 0.0
		if old != nil {
			apart = (l.Uptime - old.Uptime).Seconds()
		}
		g.rates = make([]rates, len(g.tasks))
		if apart > 0 {
			g.known = true
			g.switches, g.turns = since(l.Switches, old.Switches, apart), since(l.Turns, old.Turns, apart)
			g.busy = min(max(0, (l.Busy-old.Busy).Seconds()/apart), 1)
			g.compare(old.tasks, apart)
		}
		r.size += len(g.tasks)
		r.loops = append(r.loops, g)
	}
	return r
}

// compare computes the rates of the tasks, which were known so many seconds ago.
func (g *loopRates) compare(known []inspect.Brief, apart float64) {
	next := 0
	for i := range g.tasks {
		t := &g.tasks[i]
		for next < len(known) && known[next].ID < t.ID {
			next++
		}
		switches, busy := uint64(0), time.Duration(0)
		if next < len(known) && known[next].ID == t.ID {
			switches, busy = known[next].Switches, known[next].Busy
		}
		g.rates[i] = rates{float32(since(t.Switches, switches, apart)), float32(min(max(0, (t.Busy-busy).Seconds()/apart), 1))}
	}
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

// loop returns a loop as it was in an earlier snapshot; nil if it was not there.
func (r *reading) loop(l *inspect.Loop) *loopRates {
	if r != nil {
		for i := range r.loops {
			if r.loops[i].ID == l.ID {
				return &r.loops[i]
			}
		}
	}
	return nil
}

// briefs returns the tasks of a loop in short, in the order of their numbers, in which they nearly
// always are.
func briefs(l *inspect.Loop) []inspect.Brief {
	out := l.Briefs
	if out == nil {
		out = make([]inspect.Brief, len(l.Tasks))
		for i, t := range l.Tasks {
			out[i] = t.Brief()
		}
	}
	byID := func(a, b inspect.Brief) int { return cmp.Compare(a.ID, b.ID) }
	if !slices.IsSortedFunc(out, byID) {
		slices.SortFunc(out, byID)
	}
	return out
}
