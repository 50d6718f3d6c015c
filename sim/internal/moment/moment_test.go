package moment

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMoments sets, moves and drops moments at random: they happen in the order of time,
// and those of one time in the order in which they were set.
func TestMoments(t *testing.T) {
	type set struct {
		m  *Moment
		at int64
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		h := New()
		all := make([]Moment, 1+r.IntN(40))
		var want []set // in the order in which they were set last
		for range 120 {
			m, at := &all[r.IntN(len(all))], r.Int64N(20)
			want = slices.DeleteFunc(want, func(o set) bool { return o.m == m })
			if r.IntN(4) == 0 {
				h.Drop(m)
			} else {
				h.Put(m, at)
				want = append(want, set{m, at})
			}
			if m.IsSet() != slices.Contains(want, set{m, at}) {
				t.Fatal("a moment does not know whether it is set")
			}
		}
		slices.SortStableFunc(want, func(a, b set) int { return cmp.Compare(a.at, b.at) })
		for i, one := range want {
			if m, at := h.First(); m != one.m || at != one.at {
				t.Fatalf("moment %d of %d is another one", i, len(want))
			}
			h.Drop(one.m)
		}
		if m, _ := h.First(); m != nil {
			t.Fatal("one is left that was dropped")
		}
	}
}
