package choice

import (
	"slices"
	"testing"
	"time"
)

// draws returns the choices of a run of 200 latencies and 20 numbers.
func draws(one *Candidate) []Choice {
	c := New(7)
	c.Records = true
	if one != nil {
		c.Take(*one)
	}
	for range 200 {
		c.At(ForLatency, 1).Pick(1000)
	}
	for range 20 {
		c.At(ForChoose, 1).Pick(1000)
	}
	return c.Made
}

// TestFresh: fresh choices are others than those of the seed, as many as they are to be, and a
// list of them repeats them.
func TestFresh(t *testing.T) {
	f := &Fresh{number: 1}
	if made := draws(&Candidate{Fresh: f}); len(made) > 0 {
		t.Errorf("without a share %d choices are not plain", len(made))
	}
	f.share[ForLatency], f.share[ForChoose] = 0.5, 1
	made := draws(&Candidate{Fresh: f})
	count := make(map[Purpose]int)
	for _, c := range made {
		count[c.Purpose]++
	}
	if l, b := count[ForLatency], count[ForChoose]; l < 70 || l > 130 || b < 19 {
		t.Errorf("%d of 200 and %d of 20 choices are not plain", l, b)
	}
	all := draws(nil)
	if same := len(slices.DeleteFunc(slices.Clone(made), func(c Choice) bool { return !slices.Contains(all, c) })); same > 3 {
		t.Errorf("%d fresh choices are those of the seed", same)
	}
	if got := draws(&Candidate{List: made}); Format(got) != Format(made) {
		t.Errorf("a list of %s makes %s", Format(made), Format(got))
	}
}

// TestFewer: two of five kinds of choices become fewer, or more, but not more than all, and the
// others remain.
func TestFewer(t *testing.T) {
	f := &Fresh{number: 1}
	for p := range f.share {
		f.share[p] = 0.8
	}
	count := make(map[float64]int)
	for number := range uint64(100) {
		next := f.fewer(number)
		if next.number != number || f.number != 1 {
			t.Errorf("%d is made of %d, want %d of 1", next.number, f.number, number)
		}
		for p := range next.share {
			count[next.share[p]]++
			if f.share[p] != 0.8 {
				t.Fatal("what it is made of has changed")
			}
		}
	}
	all := 100 * len(f.share)
	for share, want := range map[float64]int{0.8: all * 6 / 10, 0: all / 10, 0.2: all / 10, 0.4: all / 10, 1: all / 10} {
		if n := count[share]; n < want*8/10 || n > want*12/10 {
			t.Errorf("%d of %d shares are %v, want about %d", n, all, share, want)
		}
	}
}

// TestShrinkerRenews: of a seed's choices none can be left out, but a run with other choices fails
// if it makes a latency and a number that are not plain.
func TestShrinkerRenews(t *testing.T) {
	all := draws(nil)
	s := &Shrinker{Best: all, Until: time.Now().Add(time.Hour)}
	for one := range s.Candidates() {
		s.Made = draws(&one)
		count := make(map[Purpose]int)
		old := 0
		for _, c := range s.Made {
			count[c.Purpose]++
			if slices.Contains(all, c) {
				old++
			}
		}
		s.Failed = old == len(all) || old < 3 && count[ForLatency] > 0 && count[ForChoose] > 0
	}
	if n := len(s.Best); n != 2 || s.Runs > 700 {
		t.Errorf("%d choices are left after %d runs: %s", n, s.Runs, Format(s.Best))
	}
}
