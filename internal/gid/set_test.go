package gid

import (
	"math/rand/v2"
	"sync"
	"testing"
)

func TestSet(t *testing.T) {
	var s Set
	if s.Has(7) {
		t.Fatal("an empty set has a number")
	}
	s.Add(7)
	s.Add(8)
	s.Remove(7)
	if s.Has(7) || !s.Has(8) {
		t.Fatalf("after 7, 8 were added and 7 removed: has 7: %t, has 8: %t", s.Has(7), s.Has(8))
	}
	s.Clear()
	if s.Has(8) {
		t.Fatal("a set that was cleared has a number")
	}
}

// TestSetModel does random operations on a set and on a map.
func TestSetModel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	var s Set
	model := map[uint64]bool{}
	for i := range 200_000 {
		id := 1 + rnd.Uint64N(2000)
		switch {
		case model[id]:
			s.Remove(id)
			delete(model, id)
		case rnd.IntN(3) > 0:
			s.Add(id)
			model[id] = true
		}
		if probe := 1 + rnd.Uint64N(2000); s.Has(probe) != model[probe] {
			t.Fatalf("step %d: has %d: %t, want %t", i, probe, s.Has(probe), model[probe])
		}
	}
}

// TestSetSearchesAreShort fills sets with runs of numbers, as the runtime hands
// them out, and checks that a search looks at a few places at most, however many
// numbers there are.
func TestSetSearchesAreShort(t *testing.T) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		var s Set
		for id := range n {
			s.Add(uint64(id) + 1)
		}
		table := *s.table.Load()
		looks := 0
		const probes = 10_000
		for id := uint64(n) + 1; id <= uint64(n)+probes; id++ {
			for i := place(id, len(table)); table[i&(len(table)-1)].Load() != 0; i++ {
				looks++
			}
		}
		if looks > 3*probes {
			t.Errorf("with %d numbers, %d searches for others looked at %d places", n, probes, looks)
		}
	}
}

// TestSetFromManyGoroutines has each goroutine look for its own number while the
// others change the set.
func TestSetFromManyGoroutines(t *testing.T) {
	var s Set
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			id := ID()
			for range 2_000 {
				s.Add(id)
				if !s.Has(id) {
					t.Error("a number that was added is not in the set")
				}
				s.Remove(id)
				if s.Has(id) {
					t.Error("a number that was removed is in the set")
				}
			}
		})
	}
	all.Wait()
}
