package timers

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// worker and call keep their places at different offsets.
type worker struct{ place int32 }

type call struct {
	_     [2]int
	place int32
}

// TestHeap sets and removes timers at random, and compares the heap with a naive
// model: a list that is sorted for each question.
func TestHeap(t *testing.T) {
	seeds := uint64(50)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		rnd := rand.New(rand.NewPCG(seed, 2))
		h := New[worker, call](unsafe.Offsetof(worker{}.place), unsafe.Offsetof(call{}.place))
		var model []Timer[worker, call]
		placeOf := func(e Timer[worker, call]) *int32 {
			if e.Worker != nil {
				return &e.Worker.place
			}
			return &e.Call.place
		}
		for range 2000 {
			switch {
			case rnd.IntN(3) > 0 || len(model) == 0:
				e := Timer[worker, call]{When: rnd.Int64N(40), age: h.last + 1}
				if rnd.IntN(2) == 0 {
					e.Worker = new(worker)
				} else {
					e.Call = new(call)
				}
				h.Set(e.When, e.Worker, e.Call)
				model = append(model, e)
			case rnd.IntN(2) == 0:
				i := rnd.IntN(len(model))
				h.Remove(*placeOf(model[i]))
				if *placeOf(model[i]) != 0 {
					t.Fatal("a timer that was removed is still set")
				}
				model = slices.Delete(model, i, i+1)
			default:
				slices.SortFunc(model, func(a, b Timer[worker, call]) int {
					if a.before(&b) {
						return -1
					}
					return 1
				})
				if h.First() != model[0] || h.Next() != model[0].When {
					t.Fatalf("seed %d: the first timer is %v, want %v", seed, h.First(), model[0])
				}
				h.Remove(1)
				model = model[1:]
			}
			if h.Len() != len(model) {
				t.Fatalf("seed %d: %d timers, want %d", seed, h.Len(), len(model))
			}
			for i, e := range h.heap {
				if int(*placeOf(e)) != i+1 || i > 0 && e.before(&h.heap[(i-1)/4]) {
					t.Fatalf("seed %d: the heap is not in order at %d", seed, i)
				}
			}
		}
	}
}

// TestMemory looks that a heap that has become empty does not keep the memory that
// it had when it was full.
func TestMemory(t *testing.T) {
	h := New[worker, call](unsafe.Offsetof(worker{}.place), unsafe.Offsetof(call{}.place))
	for i := range int64(100 * kept) {
		h.Set(i, new(worker), nil)
	}
	for h.Len() > 0 {
		h.Remove(1)
	}
	if h.Next() != Never || cap(h.heap) > 8*kept {
		t.Errorf("an empty heap has room for %d timers, the next one is at %d", cap(h.heap), h.Next())
	}
}
