package sim

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMoments sets, moves and drops moments at random: they happen in the order of time,
// and those of one time in the order in which they were set.
func TestMoments(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var h moments
		all := make([]moment, 1+r.IntN(40))
		var want []*moment // in the order in which they were set last
		for range 120 {
			m := &all[r.IntN(len(all))]
			want = slices.DeleteFunc(want, func(o *moment) bool { return o == m })
			if r.IntN(4) == 0 {
				h.drop(m)
			} else {
				h.put(m, r.Int64N(20))
				want = append(want, m)
			}
		}
		slices.SortStableFunc(want, func(a, b *moment) int { return int(a.at - b.at) })
		for i, m := range want {
			if h.first() != m {
				t.Fatalf("moment %d of %d is another one", i, len(want))
			}
			h.drop(m)
		}
		if h.first() != nil {
			t.Fatal("one is left that was dropped")
		}
	}
}
