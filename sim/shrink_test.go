package sim

import (
	"slices"
	"testing"
	"time"
)

// TestShrinker shrinks lists for which it is known what matters.
func TestShrinker(t *testing.T) {
	many := func(n int, p purpose) (list []choice) {
		for i := range n {
			list = append(list, choice{key{purpose: p, ordinal: uint32(i)}, 1000})
		}
		return list
	}
	for _, c := range []struct {
		name  string
		list  []choice
		fails func(list []choice) bool
		want  string
		runs  int
	}{
		{"nothing", many(100, forOrder), func([]choice) bool { return true }, "-", 1},
		{"one of 1000", many(1000, forOrder), func(list []choice) bool {
			return slices.ContainsFunc(list, func(c choice) bool { return c.ordinal == 777 })
		}, "o0.777=1", 60},
		{"three of 2000", many(2000, forOrder), func(list []choice) bool {
			n := 0
			for _, c := range list {
				if c.ordinal == 3 && c.value >= 10 || c.ordinal == 900 || c.ordinal == 1998 {
					n++
				}
			}
			return n == 3
		}, "o0.3=10,o0.900=1,o0.1998=1", 200},
		{"schedule before faults", append(many(500, forOrder), many(500, forFault)...), func(list []choice) bool {
			return slices.ContainsFunc(list, func(c choice) bool { return c.ordinal == 5 })
		}, "o0.5=1", 60},
	} {
		s := &shrinker{best: c.list, until: time.Now().Add(time.Hour)}
		for list := range s.lists() {
			s.failed, s.made = c.fails(list), list
		}
		if got := formatChoices(s.best); got != c.want || s.runs > c.runs {
			t.Errorf("%s: %s in %d runs", c.name, got, s.runs)
		}
	}
}

// TestShrinkerKeepsWhatRan: choices that no longer happen do not stay in the list.
func TestShrinkerKeepsWhatRan(t *testing.T) {
	list := []choice{{key{purpose: forOrder}, 1}, {key{purpose: forOrder, ordinal: 1}, 1}, {key{purpose: forOrder, ordinal: 2}, 1}}
	s := &shrinker{best: list, until: time.Now().Add(time.Hour)}
	for list := range s.lists() {
		// The choice 2 happens only if 1 did, and the run fails if 0 did.
		s.made = slices.DeleteFunc(slices.Clone(list), func(c choice) bool {
			return c.ordinal == 2 && !slices.ContainsFunc(list, func(d choice) bool { return d.ordinal == 1 })
		})
		s.failed = slices.ContainsFunc(list, func(c choice) bool { return c.ordinal == 0 })
	}
	if got := formatChoices(s.best); got != "o0.0=1" {
		t.Error(got)
	}
}

func TestSearchArgs(t *testing.T) {
	got := searchArgs("TestA/b c", []string{"-test.v", "-test.short=true", "-test.run=X", "-soak", "1m", "-test.count=7"})
	want := []string{"-test.run=^TestA$/^b c$", "-test.count=510", "-test.timeout=0", "-test.short=true", "-soak", "1m"}
	if !slices.Equal(got, want) {
		t.Error(got)
	}
}

// TestLateSeeds: a report does not say that seed 3 is on time, if it is of a cluster.
func TestLateSeeds(t *testing.T) {
	for want, rough := range map[string]bool{"seeds above 20": false, "three of four seeds of a cluster": true} {
		if got := (&series{rough: rough}).lateSeeds(); got != want {
			t.Error(got)
		}
	}
}
