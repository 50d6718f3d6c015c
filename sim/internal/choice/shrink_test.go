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
// the others in place. One long delay does the same. Of what is left nothing can be left out.
func TestShrinkerWanders(t *testing.T) {
	var all []Choice
	for i := range 40 {
		all = append(all, Choice{Key{Purpose: ForLatency, Place: 1<<16 | 2, Ordinal: uint32(i)}, 100})
	}
	total := func(list []Choice) (sum uint64) {
		for _, c := range list {
			sum += c.Value
		}
		return sum
	}
	s := &Shrinker{Best: slices.Clone(all), Until: time.Now().Add(time.Hour)}
	for one := range s.Candidates() {
		s.Made, s.Failed = one.List, one.Fresh == nil && total(one.List) >= total(all)
	}
	if len(s.Best) > Few || total(s.Best) < total(all) {
		t.Error(Format(s.Best), "after", s.Runs, "runs")
	}
	for i, c := range s.Best {
		if total(s.Best)-c.Value >= total(all) {
			t.Errorf("choice %d can be left out of %s", i, Format(s.Best))
		}
	}
	if n := total(s.Best); n > total(all)*17/16 {
		t.Errorf("%s is %d long, where %d would do", Format(s.Best), n, total(all))
	}
}

// TestHostsOfChoices: a choice is one of its host, or of the two of a way.
func TestHostsOfChoices(t *testing.T) {
	for _, one := range []struct {
		of    []Purpose
		place uint64
		want  []uint64
	}{
		{[]Purpose{ForOrder, ForShare, ForHold, ForStall}, 3<<40 | 7, []uint64{3}},
		{[]Purpose{ForOrder}, HostOrder, nil},
		{[]Purpose{ForLatency, ForPacket}, 3<<16 | 4, []uint64{3, 4}},
		{[]Purpose{ForStream}, 3<<16 | 80, []uint64{3}},
		{[]Purpose{ForDisk, ForSync}, 3, []uint64{3}},
		{[]Purpose{ForFault}, DiskPlace | 3<<8 | 1, []uint64{3}},
		{[]Purpose{ForChoose}, 3<<32 | 1, []uint64{3}},
		{[]Purpose{ForPoll, ForCallback}, 3<<8 | 1, []uint64{3}},
	} {
		for _, p := range one.of {
			if got := (Choice{Key{Purpose: p, Place: one.place}, 1}).hosts(); !slices.Equal(got, one.want) {
				t.Errorf("purpose %d at %x: %v, want %v", p, one.place, got, one.want)
			}
		}
	}
}

// trying returns a shrinker of a list, and the lists that it has tried. fails says whether the run
// of a list fails, and is not told of it again if not.
func trying(best []Choice, fails func(list []Choice) bool) (s *Shrinker, tried *[]string) {
	tried = new([]string)
	s = &Shrinker{Best: best, Until: time.Now().Add(time.Hour)}
	s.yield = func(one Candidate) bool {
		*tried = append(*tried, Format(one.List))
		if s.Made = one.List; fails(one.List) {
			s.Failed = true
		}
		return true
	}
	return s, tried
}

// list reads a list.
func list(t *testing.T, s string) []Choice {
	t.Helper()
	read, err := Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// never is the answer of runs that do not fail.
func never([]Choice) bool { return false }

// TestParts: without each kind, all that is late or in another order, and each host but the first,
// and then each place that has several.
func TestParts(t *testing.T) {
	for _, one := range []struct {
		list string
		do   func(s *Shrinker)
		want []string
	}{
		{"d3.0=1,y1.0=1,h1.0=1,o1.0=1", (*Shrinker).parts, []string{
			"y1.0=1,h1.0=1,o1.0=1", "d3.0=1,y1.0=1,o1.0=1", "d3.0=1,y1.0=1,h1.0=1", "d3.0=1,h1.0=1,o1.0=1",
			"d3.0=1,y1.0=1", "d3.0=1,y1.0=1,o1.0=1", "y1.0=1,h1.0=1,o1.0=1",
		}},
		{"d3.0=1", (*Shrinker).parts, []string{"-", "-"}},
		{"d3.0=1,d4.0=1,y3.0=1,d5.0=1", (*Shrinker).tasks, []string{"d4.0=1,d5.0=1"}},
		{"d1.0=1,y1.0=1,d1.1=1,d1.2=1,d1.3=1", func(s *Shrinker) {
			s.thin(func(c Choice) bool { return c.Purpose == ForDisk }, 9, 1)
		}, []string{
			"y1.0=1,d1.2=1,d1.3=1", "d1.0=1,y1.0=1,d1.1=1",
			"y1.0=1,d1.1=1,d1.2=1,d1.3=1", "d1.0=1,y1.0=1,d1.2=1,d1.3=1", "d1.0=1,y1.0=1,d1.1=1,d1.3=1", "d1.0=1,y1.0=1,d1.1=1,d1.2=1",
		}},
		{"d1.0=1,d1.1=1,d1.2=1", func(s *Shrinker) { s.thin(func(Choice) bool { return true }, 9, 2) }, []string{"d1.2=1", "d1.0=1,d1.1=1"}},
		{"d1.0=1,d1.1=1,d1.2=1", func(s *Shrinker) { s.pairs() }, []string{"d1.2=1", "d1.1=1", "d1.0=1"}},
	} {
		s, tried := trying(list(t, one.list), never)
		if one.do(s); !slices.Equal(*tried, one.want) || s.Runs != len(one.want) {
			t.Errorf("%s: %d runs: %q, want %q", one.list, s.Runs, *tried, one.want)
		}
	}
}

// TestRound: a round tries parts of all kinds, then smaller values of what cannot be left out. It
// does not try these while something can be, or where it tries large parts only.
func TestRound(t *testing.T) {
	const fault, soft = "f768.0=1407374883553281", "f768.0=1" // with a delay, and without
	for _, one := range []struct {
		least      int
		fails      string
		want, none []string
	}{
		{1, "", []string{"o1.0=8", fault, soft + ",o1.0=8", fault + ",o1.0=1", fault + ",o1.0=4"}, nil},
		{2, "", []string{"o1.0=8", fault}, []string{soft + ",o1.0=8", fault + ",o1.0=4"}},
		{1, fault, []string{fault}, []string{soft}},
	} {
		s, tried := trying(list(t, fault+",o1.0=8"), func(list []Choice) bool { return Format(list) == one.fails })
		s.round(one.least)
		for _, list := range one.want {
			if !slices.Contains(*tried, list) {
				t.Errorf("parts of %d, %q fails: %s is not tried: %q", one.least, one.fails, list, *tried)
			}
		}
		for _, list := range one.none {
			if slices.Contains(*tried, list) {
				t.Errorf("parts of %d, %q fails: %s is tried: %q", one.least, one.fails, list, *tried)
			}
		}
	}
	s, tried := trying(list(t, "d1.0=1,d1.1=1,y1.0=1"), never)
	if s.round(2); !slices.Contains(*tried, "-") {
		t.Errorf("not all at one place are left out: %q", *tried)
	}
	many := draws(nil)
	s, tried = trying(many, never)
	s.round(len(many))
	if half := Format(many[len(many)/2:]); !slices.Contains(*tried, half) {
		t.Error("the first half of many choices is not left out")
	}
}

// TestShrinkerDrawsAgain: of other runs with few choices that fail, the one remains of which least
// is left.
func TestShrinkerDrawsAgain(t *testing.T) {
	best := draws(nil)[:30]
	s := &Shrinker{Best: best, Until: time.Now().Add(time.Hour), fresh: new(Fresh)}
	s.fresh.share[ForLatency] = 0.2
	s.yield = func(one Candidate) bool {
		s.Made = draws(&one)
		n := len(s.Made)
		s.Failed = n > 0 && n >= Few+2+int(s.Made[0].Ordinal%7)
		return true
	}
	if s.again(); len(s.Best) != Few+2 || s.Best[0].Ordinal%7 != 0 {
		t.Errorf("%d choices are left after %d runs: %s", len(s.Best), s.Runs, Format(s.Best))
	}
}

// TestPairs: two choices of which neither can be left out alone.
func TestPairs(t *testing.T) {
	s, _ := trying(list(t, "d1.0=1,d1.1=1,d1.2=1"), func(list []Choice) bool { return Format(list) == "d1.1=1" })
	if !s.pairs() || Format(s.Best) != "d1.1=1" {
		t.Error(Format(s.Best))
	}
	if s.pairs() {
		t.Error("one is no pair")
	}
}

// TestSmallerValues: a fault strikes at once and is short if that fails too, and another value is
// about the least that does.
func TestSmallerValues(t *testing.T) {
	const value = 5<<DelayShift | 4<<HowShift | 3<<LongShift | 2<<WhomShift | 1
	for _, one := range []struct {
		least func(v uint64) bool
		want  uint64
	}{
		{func(uint64) bool { return true }, 4<<HowShift | 2<<WhomShift | 1},
		{func(v uint64) bool { return v>>DelayShift > 0 }, value &^ (0xffff << LongShift)},
		{func(v uint64) bool { return v>>LongShift&0xffff > 0 }, value &^ (0xffff << DelayShift)},
	} {
		s, _ := trying([]Choice{{Key{Purpose: ForFault}, value}}, func(list []Choice) bool { return one.least(list[0].Value) })
		if s.soften(0); s.Best[0].Value != one.want {
			t.Errorf("%x, want %x", s.Best[0].Value, one.want)
		}
	}
	s := &Shrinker{Best: []Choice{{Key{Purpose: ForFault}, value}}, Until: time.Now().Add(time.Hour)}
	s.yield = func(Candidate) bool { s.Failed = true; return true } // such a run makes no choices
	if s.soften(0); len(s.Best) > 0 {
		t.Error(Format(s.Best))
	}
	for _, least := range []uint64{1, 2, 3, 15, 1000, 1 << 30} {
		s, tried := trying([]Choice{{Key{Purpose: ForLatency}, 1 << 30}}, func(list []Choice) bool { return list[0].Value >= least })
		if s.halve(0); s.Best[0].Value < least || s.Best[0].Value > least+least/15 || len(*tried) > 40 {
			t.Errorf("%d after %d runs, want about %d", s.Best[0].Value, len(*tried), least)
		}
	}
}

// TestSimpler: a list is simpler if it is shorter, or if its values are smaller.
func TestSimpler(t *testing.T) {
	all := []string{"-", "d1.0=1", "d1.0=2", "d1.0=1099511627776", "d1.0=18446744073709551615", "d1.0=1,d1.1=1", "d1.0=1,d1.1=2",
		"d1.0=18446744073709551615,d1.1=1", "d1.0=18446744073709551615,d1.1=18446744073709551615", "d1.0=1,d1.1=1,d1.2=1",
		"d1.0=18446744073709551615,d1.1=1,d1.2=1", "d1.0=18446744073709551615,d1.1=18446744073709551615,d1.2=18446744073709551615",
	}
	for i, a := range all {
		for j, b := range all {
			if less(list(t, a), list(t, b)) != (i < j) {
				t.Errorf("%s is simpler than %s: %v", a, b, i >= j)
			}
		}
	}
}

// TestShrinkerEnds: a search ends when its time is over, or when nobody wants more, or when the
// first run, which makes no choices, fails. It remembers no failure.
func TestShrinkerEnds(t *testing.T) {
	best := list(t, "d1.0=1,y1.0=1,d1.1=1")
	s := &Shrinker{Best: best, Until: time.Now().Add(-1)}
	for range s.Candidates() {
		t.Error("its time is over")
	}
	s = &Shrinker{Best: best, Until: time.Now().Add(time.Hour)}
	for range s.Candidates() {
		s.Failed = true
		break
	}
	if s.Runs != 1 || Format(s.Best) != Format(best) {
		t.Errorf("%d runs, and %s", s.Runs, Format(s.Best))
	}
	for _, one := range []struct {
		best, fails string
		runs        int
	}{{"-", "", 0}, {"d1.0=1,y1.0=1,d1.1=1", "-", 1}} {
		s := &Shrinker{Best: list(t, one.best), Until: time.Now().Add(time.Hour)}
		for c := range s.Candidates() {
			if s.Made = c.List; Format(c.List) == one.fails {
				s.Failed = true
			}
		}
		if len(s.Best) > 0 || s.Runs != one.runs {
			t.Errorf("%s: %d runs, and %s", one.best, s.Runs, Format(s.Best))
		}
	}
	s = &Shrinker{Best: best, Until: time.Now().Add(time.Hour)}
	for c := range s.Candidates() {
		if s.Made = c.List; Format(c.List) == "y1.0=1,d1.1=1" {
			s.Failed = true
		}
	}
	if Format(s.Best) != "y1.0=1,d1.1=1" {
		t.Error(Format(s.Best))
	}
}
