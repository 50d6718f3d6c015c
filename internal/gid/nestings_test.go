package gid

import (
	"maps"
	"math/rand/v2"
	"testing"
)

// TestNestingsModel does random operations on a table and on a map. To drop those
// of one owner touches no other.
func TestNestingsModel(t *testing.T) {
	type owner struct{ first int32 }
	type place struct {
		id uint64
		in *owner
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	var c Nestings[owner]
	var owners [20]owner
	model := make(map[uintptr]place)
	for step := range 100_000 {
		in := &owners[rnd.IntN(len(owners))]
		if rnd.IntN(8) > 0 {
			p := place{1 + rnd.Uint64N(3), in}
			record := uintptr(1 + rnd.IntN(100))
			c.Put(in, &in.first, p.id, record)
			model[record] = p
		} else {
			c.Drop(&in.first)
			maps.DeleteFunc(model, func(_ uintptr, p place) bool { return p.in == in })
		}
		if step%16 != 0 {
			continue
		}
		got := make(map[uintptr]place)
		for i := range owners {
			o := &owners[i]
			for at, prev := o.first, int32(0); at != 0; at, prev = c.Places[at-1].next, at {
				p := c.Places[at-1]
				if p.In != o || p.prev != prev || c.byRecord[p.Record] != at {
					t.Fatalf("step %d: place %d is %+v", step, at, p)
				}
				got[p.Record] = place{p.ID, p.In}
			}
		}
		if !maps.Equal(got, model) || len(c.byRecord) != len(model) || len(c.Places) > 100 {
			t.Fatalf("step %d: %d coroutines in %d places, want %d", step, len(got), len(c.Places), len(model))
		}
	}
}
