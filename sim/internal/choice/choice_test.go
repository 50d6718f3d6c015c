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
	c.Who = 8
	c.Note(Key{Purpose: ForFault, Ordinal: 1}, 1)
	c.Note(Key{Purpose: ForFault, Ordinal: 2}, 1)
	if !slices.Equal(told, []uint64{0, 8, 0}) {
		t.Error(told)
	}
}

// TestSay: the words of a choice go to Says, if that is set.
func TestSay(t *testing.T) {
	c := New(1)
	words := func(host func(number uint64) string) string { return host(3) + " crashed" }
	c.Say(words) // nobody wants them
	var said []string
	c.Says = func(words Words) {
		said = append(said, words(func(number uint64) string { return fmt.Sprint("h", number) }))
	}
	c.Say(words)
	c.At(ForFault, 1).Say(words)
	if !slices.Equal(said, []string{"h3 crashed", "h3 crashed"}) {
		t.Error(said)
	}
}

// TestRarely: how often something happens that happens in so many of a million cases.
func TestRarely(t *testing.T) {
	for millionths, want := range map[int]int{0: 0, 250_000: 2500, 1_000_000: 10_000} {
		s, n := New(1).At(ForFault, 1), 0
		for range 10_000 {
			if s.Rarely(millionths) {
				n++
			}
		}
		if n < want*95/100 || n > want*105/100 {
			t.Errorf("%d of a million: %d of 10,000", millionths, n)
		}
	}
}

// TestChanges: a byte of the changes changes sixteen choices in a row, and likewise the numbers of
// a stream. A byte of zero changes nothing, and what is behind the last byte is not changed.
func TestChanges(t *testing.T) {
	for what, draw := range map[string]func(c *Choices) func() uint64{
		"choices": func(c *Choices) func() uint64 {
			s := c.At(ForLatency, 1)
			return func() uint64 { return s.Draw(func(random uint64) uint64 { return random }) }
		},
		"stream": func(c *Choices) func() uint64 { return c.Stream(7, ForBody).Uint64 },
	} {
		plain, changed, other := New(7), New(7), New(7)
		changed.Changes, other.Changes = []byte{0, 1, 0, 2}, []byte{0, 3}
		a, b, c := draw(plain), draw(changed), draw(other)
		for i := range 5 * changeEvery {
			x, y, z := a(), b(), c()
			if part := i / changeEvery; (x != y) != (part == 1 || part == 3) || (x != z) != (part == 1) || (y != z) != (part == 1 || part == 3) {
				t.Errorf("number %d of the %s: %x, changed %x and %x", i, what, x, y, z)
			}
		}
	}
}

// TestDecides: what the seed decides and what a list, a path or fresh choices do.
func TestDecides(t *testing.T) {
	fresh := func(p Purpose) Candidate {
		f := new(Fresh)
		f.share[p] = 0.5
		return Candidate{Fresh: f}
	}
	list := func(p Purpose) Candidate {
		return Candidate{List: []Choice{{Key{Purpose: p}, 1}, {Key{Purpose: ForFault}, 1}}}
	}
	for _, one := range []struct {
		name                           string
		take                           func(c *Choices)
		drawn, orders, fresh           bool
		rough, shares, exact, noShares bool // whether things may be late and shares drawn, and if the seed had none
	}{
		{"seed", func(*Choices) {}, true, true, false, true, true, false, false},
		{"path", func(c *Choices) { c.Walk = new(Walk) }, false, false, false, true, true, false, false},
		{"list", func(c *Choices) { c.Take(list(ForOrder)) }, false, false, false, true, false, false, false},
		{"list with shares", func(c *Choices) { c.Take(list(ForShare)) }, false, false, false, true, true, false, true},
		{"fresh faults", func(c *Choices) { c.Take(fresh(ForFault)) }, true, false, true, false, false, false, false},
		{"fresh orders", func(c *Choices) { c.Take(fresh(ForOrder)) }, true, true, true, true, false, false, false},
		{"fresh shares", func(c *Choices) { c.Take(fresh(ForShare)) }, true, true, true, true, true, false, false},
	} {
		c, exact := New(1), New(1)
		c.Rough, c.Shares = true, true
		one.take(c)
		one.take(exact)
		if c.Drawn() != one.drawn || c.Orders() != one.orders || c.Renewed() != one.fresh {
			t.Errorf("%s: the seed decides: %v, also the order: %v; fresh: %v", one.name, c.Drawn(), c.Orders(), c.Renewed())
		}
		if c.Rough != one.rough || c.Shares != one.shares || exact.Rough != one.exact || exact.Shares != one.noShares {
			t.Errorf("%s: late: %v, shares: %v; of an exact seed %v, %v", one.name, c.Rough, c.Shares, exact.Rough, exact.Shares)
		}
	}
}

// TestMix: it is the finaliser of SplitMix64, whose first numbers are published.
func TestMix(t *testing.T) {
	for x, want := range map[uint64]uint64{0: 0xe220a8397b1dcdaf, 1234567: 6457827717110365317} {
		if got := Mix(x); got != want {
			t.Errorf("Mix(%d) is %#x, want %#x", x, got, want)
		}
	}
}
