package heap

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestLeastFirst(t *testing.T) {
	h := New(func(a, b int) bool { return a < b })
	for _, v := range []int{3, 1, 2} {
		h.Add(v)
	}
	if a, b, c := h.Take(), h.Take(), h.Take(); a != 1 || b != 2 || c != 3 {
		t.Fatalf("took %d, %d, %d", a, b, c)
	}
}

// TestModel does random operations on a heap and on a sorted slice. Values are
// equal if their tens are, so it also checks that the first of equals is next.
func TestModel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	less := func(a, b int) bool { return a/10 < b/10 }
	h := New(less)
	var model []int
	sorted := func() {
		slices.SortStableFunc(model, func(a, b int) int { return a/10 - b/10 })
	}
	for i := range 50_000 {
		switch n := rnd.IntN(100); {
		case n < 51 || len(model) == 0:
			v := rnd.IntN(1000)
			h.Add(v)
			model = append(model, v)
		case n == 99 && len(model) > 3:
			sorted()
			h.Keep(len(model) - 2)
			model = model[:len(model)-2]
		default:
			sorted()
			if got := h.Take(); got != model[0] {
				t.Fatalf("step %d: took %d, want %d", i, got, model[0])
			}
			model = model[1:]
		}
		if h.Len() != len(model) {
			t.Fatalf("step %d: %d values, want %d", i, h.Len(), len(model))
		}
	}
}

// TestShrinks takes nearly all values of a large heap: its memory is given back.
func TestShrinks(t *testing.T) {
	h := New(func(a, b int) bool { return a < b })
	for i := range 100_000 {
		h.Add(i)
	}
	for range 99_990 {
		h.Take()
	}
	if cap(h.all) > 4*kept {
		t.Fatalf("a heap of %d values has room for %d", h.Len(), cap(h.all))
	}
}

// TestLessPanics lets the first, the second, and each further call of less panic while a
// value is added or taken, or some are kept: the heap is as it was.
func TestLessPanics(t *testing.T) {
	values := []int{5, 3, 8, 3, 1, 9, 2, 7, 4, 6}
	for name, change := range map[string]func(h *Heap[int]){
		"Add":  func(h *Heap[int]) { h.Add(0) },
		"Take": func(h *Heap[int]) { h.Take() },
		"Keep": func(h *Heap[int]) { h.Keep(2) },
	} {
		for panics := 1; ; panics++ {
			calls := -1000
			h := New(func(a, b int) bool {
				if calls++; calls == panics {
					panic("less")
				}
				return a < b
			})
			for _, v := range values {
				h.Add(v)
			}
			if calls = 0; !panicked(func() { change(h) }) {
				break
			}
			calls = -1000
			var got []int
			for h.Len() > 0 {
				got = append(got, h.Take())
			}
			if want := slices.Sorted(slices.Values(values)); !slices.Equal(got, want) {
				t.Errorf("less panicked at call %d of %s: then %v were taken", panics, name, got)
			}
		}
	}
}

func panicked(fn func()) (did bool) {
	defer func() { did = recover() != nil }()
	fn()
	return false
}
