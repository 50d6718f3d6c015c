package rondo

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTimerHeap sets and removes timers at random, and compares the heap with a
// naive model: a list that is sorted for each question.
func TestTimerHeap(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		var h timers
		var model []timer
		for range 2000 {
			switch {
			case rnd.IntN(3) > 0 || len(model) == 0:
				when := rnd.Int64N(40)
				h.set(when, nil, &Handle{})
				model = append(model, timer{when: when, age: h.last, call: h.heap[slices.IndexFunc(h.heap, func(e timer) bool { return e.age == h.last })].call})
			case rnd.IntN(2) == 0:
				i := rnd.IntN(len(model))
				h.remove(int(model[i].call.timerIndex) - 1)
				if model[i].call.timerIndex != 0 {
					t.Fatal("a timer that was removed is still set")
				}
				model = slices.Delete(model, i, i+1)
			default:
				slices.SortFunc(model, func(a, b timer) int {
					if a.before(&b) {
						return -1
					}
					return 1
				})
				if h.heap[0] != model[0] || h.next() != model[0].when {
					t.Fatalf("seed %d: the first timer is %v, want %v", seed, h.heap[0], model[0])
				}
				h.remove(0)
				model = model[1:]
			}
			if h.len() != len(model) {
				t.Fatalf("seed %d: %d timers, want %d", seed, h.len(), len(model))
			}
			for i, e := range h.heap {
				if int(e.call.timerIndex) != i+1 || i > 0 && e.before(&h.heap[(i-1)/4]) {
					t.Fatalf("seed %d: the heap is not in order at %d", seed, i)
				}
			}
		}
	}
}
