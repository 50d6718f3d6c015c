package loopset

import (
	"slices"
	"sync"
	"testing"
)

// TestSet adds and removes loops, and looks at what All returned before.
func TestSet(t *testing.T) {
	type loop struct{ number uint64 }
	var s Set[loop]
	a, b, c := &loop{s.Number()}, &loop{s.Number()}, &loop{s.Number()}
	if a.number != 1 || b.number != 2 || c.number != 3 {
		t.Errorf("the numbers are %d, %d and %d", a.number, b.number, c.number)
	}
	for _, l := range []*loop{a, b, c} {
		s.Add(l)
	}
	before := s.All()
	s.Remove(b)
	if got := s.All(); !slices.Equal(got, []*loop{a, c}) {
		t.Errorf("without the second one the loops are %v", got)
	}
	if !slices.Equal(before, []*loop{a, b, c}) {
		t.Errorf("what All returned has changed to %v", before)
	}
	s.Remove(a)
	s.Remove(c)
	if got := s.All(); len(got) != 0 {
		t.Errorf("an empty set has %v", got)
	}
}

// TestManyGoroutines is for the race detector.
func TestManyGoroutines(t *testing.T) {
	var s Set[int]
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for range 100 {
				s.Number()
				s.Add(&g)
				s.All()
				s.Remove(&g)
			}
		})
	}
	group.Wait()
	if n := s.Number(); n != 801 || len(s.All()) != 0 {
		t.Errorf("the next number is %d, and %d are left", n, len(s.All()))
	}
}
