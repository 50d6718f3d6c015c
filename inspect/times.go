package inspect

// A flight has the steps that tasks took. Times are counted from it, in total and for each kind of
// task. The loop does nothing for it.
//
// The law: each step of the record counts once in the total and once in its kind.

import (
	"cmp"
	"slices"
	"time"
)

// A Flight is what the tasks of a program did last.
type Flight struct {
	Loops []FlightLoop
}

// A FlightLoop is what those of one loop did. Steps are in the order in which they ran.
type FlightLoop struct {
	ID    uint64
	Name  string
	Steps []FlightStep
	Lost  string // why there are no steps, in a sentence; else ""
}

// A FlightStep is the time from when a task ran after a wait, or for the first time, to when
// another one did or the loop slept. If only the time of several steps together is known, it is
// divided equally among them. What a task did between two of its Yields belongs to its step, and
// so do callbacks.
type FlightStep struct {
	Task  uint64 // its number; 0 if that is not known
	Name  string // its name, or its function and number
	Kind  string // its function; its name if no more than eight tasks of that function have names
	From  time.Duration
	To    time.Duration // both by the system's monotonic clock
	Woken bool          // it was started, or its wait ended, before this step
	By    uint64        // the task that did that; 0 if a timer, a callback or the world did
	// Ready is how long it could have run before From, but others ran: exact to half of the time
	// between two looks at the clock, which are about 100 µs or one step apart. Of a task that
	// has not started, it begins when the run queue has room for it.
	Ready time.Duration
}

// Count returns how many steps there are, and how many tasks took them.
func (l *FlightLoop) Count() (steps, tasks int) {
	seen := make(map[uint64]bool)
	for _, s := range l.Steps {
		seen[s.Task] = true
	}
	return len(l.Steps), len(seen)
}

// loop returns what the tasks of a loop did; nil if that is not known.
func (f *Flight) loop(id uint64) *FlightLoop {
	if f != nil {
		for i := range f.Loops {
			if f.Loops[i].ID == id {
				return &f.Loops[i]
			}
		}
	}
	return nil
}

// mostKinds is how many kinds of task have Times of their own: those whose steps took longest
// together.
const mostKinds = 100

// Times returns how long the tasks were ready and how long their steps took: of all of them first,
// then of each kind, those whose steps took longest together first, 100 at most. It is empty if
// there are no steps.
func (l *FlightLoop) Times() []Times {
	if len(l.Steps) == 0 {
		return nil
	}
	kinds, worst := map[string]int{"": 0}, []int{-1}
	all := []Times{{}}
	count := func(k, i int) {
		t, s := &all[k], l.Steps[i]
		t.Steps.add(s.To - s.From)
		if !s.Woken {
			return
		}
		if t.Ready.add(s.Ready); s.Ready > 0 && (worst[k] < 0 || s.Ready > l.Steps[worst[k]].Ready) {
			worst[k] = i
		}
	}
	for i, s := range l.Steps {
		k, ok := kinds[s.Kind]
		if !ok {
			k = len(all)
			kinds[s.Kind] = k
			all, worst = append(all, Times{Kind: s.Kind}), append(worst, -1)
		}
		count(0, i)
		count(k, i)
	}
	order := make([]int, len(all)-1)
	for i := range order {
		order[i] = i + 1
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(all[b].Steps.Sum, all[a].Steps.Sum), cmp.Compare(all[a].Kind, all[b].Kind))
	})
	out := make([]Times, 0, 1+mostKinds)
	for _, k := range append([]int{0}, order[:min(len(order), mostKinds)]...) {
		t := all[k]
		t.Worst = l.readyWait(worst[k])
		out = append(out, t)
	}
	return out
}

// readyWait says who ran while the task of the i-th step was ready; nil if i is less than 0.
func (l *FlightLoop) readyWait(i int) *ReadyWait {
	if i < 0 {
		return nil
	}
	s := l.Steps[i]
	w := &ReadyWait{Task: s.Name, For: s.Ready}
	for k := i - 1; k >= 0 && l.Steps[k].To > s.From-s.Ready; k-- {
		w.Ahead++
		if long := l.Steps[k].To - max(l.Steps[k].From, s.From-s.Ready); long > w.LongestFor {
			w.Longest, w.LongestFor = l.Steps[k].Name, long
		}
	}
	return w
}
