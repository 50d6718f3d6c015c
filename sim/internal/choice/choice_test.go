package choice

import (
	"fmt"
	"slices"
	"testing"
)

// TestChoicesAreKeyed: a choice depends on its key alone, not on how many were made
// elsewhere.
func TestChoicesAreKeyed(t *testing.T) {
	values := func(c *Choices, place uint64, n int) (all []int) {
		s := c.At(ForLatency, place)
		for range n {
			all = append(all, s.Pick(1000))
		}
		return all
	}
	a, b := New(7), New(7)
	values(b, 1, 13)
	if got, want := values(b, 2, 20), values(a, 2, 20); !slices.Equal(got, want) {
		t.Error(got, want)
	}
	if slices.Equal(values(New(8), 2, 20), values(New(7), 2, 20)) {
		t.Error("two seeds choose alike")
	}
	if New(7).Config(1) == New(7).Config(2) || New(7).Config(1) != a.Config(1) {
		t.Error("what is fixed for a run does not depend on what it is alone")
	}
	for _, p := range Kinds {
		counts := make([]int, 8)
		s := New(3).At(p.purpose, 5)
		for range 8000 {
			counts[s.Pick(8)]++
		}
		if slices.Min(counts) < 880 || slices.Max(counts) > 1120 {
			t.Errorf("choices for %s are uneven: %v", p.Words, counts)
		}
	}
}

// TestRepeatedList: a list says which choices are not zero, and one beyond what there is
// to choose from is the last.
func TestRepeatedList(t *testing.T) {
	list, err := Parse("f3.0=1,b0.1=9")
	if err != nil {
		t.Fatal(err)
	}
	c := New(1)
	c.Repeat(list)
	s := c.At(ForChoose, 0)
	got := fmt.Sprint(c.At(ForFault, 3).Rarely(1), c.At(ForFault, 3).Rarely(1e6), s.Pick(4), s.Pick(4), s.Pick(4))
	if got != "true false 0 3 0" {
		t.Error(got)
	}
}

func TestParseChoicesErrors(t *testing.T) {
	for _, s := range []string{"", "x1.2=3", "o1.2", "o1=2", "o.1=2", "o1.2=0", "o1.2=3,", "o1.4294967296=1", "o1.2=-1"} {
		if list, err := Parse(s); err == nil {
			t.Errorf("%q reads as %v", s, list)
		}
	}
	if list, err := Parse("-"); err != nil || list == nil || len(list) != 0 {
		t.Error(list, err)
	}
}

// TestNoteForgetsWho: for whom a choice was that was plain says nothing of the next one.
func TestNoteForgetsWho(t *testing.T) {
	c := New(1)
	c.Records = true
	var told []uint64
	c.Told = func(_ Choice, who uint64, _ []uint64) { told = append(told, who) }
	c.Who = 7
	c.Note(Key{Purpose: ForChoose}, 0)
	c.Note(Key{Purpose: ForFault}, 1)
	if len(told) != 1 || told[0] != 0 {
		t.Error(told)
	}
}
