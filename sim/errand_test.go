package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rondo-go/rondo/internal/driver"
)

// TestErrandsInOrder: errands are in the order of their sockets and kinds, whenever they came; of
// one kind those for which nobody waits in the order in which they came, and the others in that
// of their goroutines.
func TestErrandsInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for waits := range 2 {
		var es errands
		var want []*errand
		for range 200 {
			e := &errand{process: &process{lane: &lane{number: random.Uint64N(2)}}, serial: random.Uint64N(3)}
			e.Kind = driver.ErrandKind(random.IntN(3))
			if waits == 1 {
				e.done, e.goroutine = make(chan struct{}), random.Uint64()
			}
			es.add(e)
			want = append(want, e)
			slices.SortStableFunc(want, func(a, b *errand) int { return cmp.Or(a.place(b), cmp.Compare(a.goroutine, b.goroutine)) })
			if !slices.Equal(es.waiting, want) {
				t.Fatalf("after %d errands another order", len(want))
			}
		}
	}
}
