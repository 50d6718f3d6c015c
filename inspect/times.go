package inspect

// Times are counted from the flight record of a loop, in total and for each kind of task. The loop
// does nothing for it.
//
// The law: each step of the record counts once in the total and once in its kind.

import (
	"cmp"
	"slices"
)

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
