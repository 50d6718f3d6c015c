package choice

import (
	"slices"
	"testing"
	"time"
)

// every writes a list of one choice of step.
func every(n, step int) string {
	var list []Choice
	for i := 0; i < n; i += step {
		list = append(list, Choice{Key{Purpose: ForOrder, Ordinal: uint32(i)}, 1})
	}
	return Format(list)
}

// TestShrinker shrinks lists for which it is known what matters.
func TestShrinker(t *testing.T) {
	many := func(n int, p Purpose) (list []Choice) {
		for i := range n {
			list = append(list, Choice{Key{Purpose: p, Ordinal: uint32(i)}, 1000})
		}
		return list
	}
	for _, c := range []struct {
		name  string
		list  []Choice
		fails func(list []Choice) bool
		want  string
		runs  int
	}{
		{"nothing", many(100, ForOrder), func([]Choice) bool { return true }, "-", 1},
		{"one of 1000", many(1000, ForOrder), func(list []Choice) bool {
			return slices.ContainsFunc(list, func(c Choice) bool { return c.Ordinal == 777 })
		}, "o0.777=1", 100},
		{"three of 2000", many(2000, ForOrder), func(list []Choice) bool {
			n := 0
			for _, c := range list {
				if c.Ordinal == 3 && c.Value >= 10 || c.Ordinal == 900 || c.Ordinal == 1998 {
					n++
				}
			}
			return n == 3
		}, "o0.3=10,o0.900=1,o0.1998=1", 200},
		{"schedule before faults", append(many(500, ForOrder), many(500, ForFault)...), func(list []Choice) bool {
			return slices.ContainsFunc(list, func(c Choice) bool { return c.Ordinal == 5 })
		}, "o0.5=1", 60},
		// More runs than 500 are needed to leave out each of those that do not matter.
		{"every seventh", many(1400, ForOrder), func(list []Choice) bool {
			n := 0
			for _, c := range list {
				if c.Ordinal%7 == 0 {
					n++
				}
			}
			return n == 200
		}, every(1400, 7), 20_000},
	} {
		s := &Shrinker{Best: c.list, Until: time.Now().Add(time.Hour)}
		for one := range s.Candidates() {
			s.Failed, s.Made = one.Fresh == nil && c.fails(one.List), one.List
		}
		if got := Format(s.Best); got != c.want || s.Runs > c.runs {
			t.Errorf("%s: %s in %d runs", c.name, got, s.Runs)
		}
	}
}

// TestShrinkerKeepsWhatRan: choices that no longer happen do not stay in the list.
func TestShrinkerKeepsWhatRan(t *testing.T) {
	list := []Choice{{Key{Purpose: ForOrder}, 1}, {Key{Purpose: ForOrder, Ordinal: 1}, 1}, {Key{Purpose: ForOrder, Ordinal: 2}, 1}}
	s := &Shrinker{Best: list, Until: time.Now().Add(time.Hour)}
	for one := range s.Candidates() {
		list := one.List
		// The choice 2 happens only if 1 did, and the run fails if 0 did.
		s.Made = slices.DeleteFunc(slices.Clone(list), func(c Choice) bool {
			return c.Ordinal == 2 && !slices.ContainsFunc(list, func(d Choice) bool { return d.Ordinal == 1 })
		})
		s.Failed = slices.ContainsFunc(list, func(c Choice) bool { return c.Ordinal == 0 })
	}
	if got := Format(s.Best); got != "o0.0=1" {
		t.Error(got)
	}
}

// TestShrinkerWanders: of forty short delays none can be left out, because each holds the time of
// the others in place. One long delay does the same.
func TestShrinkerWanders(t *testing.T) {
	var all []Choice
	for i := range 40 {
		all = append(all, Choice{Key{Purpose: ForLatency, Place: 1<<16 | 2, Ordinal: uint32(i)}, 100})
	}
	s := &Shrinker{Best: slices.Clone(all), Until: time.Now().Add(time.Hour)}
	for one := range s.Candidates() {
		s.Made, s.Failed = one.List, one.Fresh == nil && total(one.List) >= total(all)
	}
	if len(s.Best) > Few || total(s.Best) < total(all) {
		t.Error(Format(s.Best), "after", s.Runs, "runs")
	}
}

// TestHostsOfTasks: a choice about a task is one of its host.
func TestHostsOfTasks(t *testing.T) {
	for _, p := range []Purpose{ForOrder, ForShare, ForHold, ForStall} {
		if got := (Choice{Key{Purpose: p, Place: 3 << 40}, 1}).hosts(); !slices.Equal(got, []uint64{3}) {
			t.Errorf("purpose %d: %v", p, got)
		}
	}
}
