package ring

import (
	"math/rand/v2"
	"testing"
)

func TestFirstInFirstOut(t *testing.T) {
	var r Ring[string]
	r.Add("a")
	r.Add("b")
	r.Add("c")
	if first, last := r.Take(), r.TakeLast(); first != "a" || last != "c" || r.Len() != 1 || *r.At(0) != "b" {
		t.Fatalf("took %q and %q; want a and c, and b left", first, last)
	}
}

// TestShrinks fills a ring once and then uses little of it: the memory of the
// burst is given back.
func TestShrinks(t *testing.T) {
	var r Ring[int]
	for i := range 1 << 20 {
		r.Add(i)
	}
	for range 1 << 20 {
		r.Take()
	}
	for i := range 1000 {
		r.Add(i)
		r.Take()
	}
	if len(r.buf) != smallest {
		t.Fatalf("the slice has %d places after a burst of %d and 1000 single values; want %d", len(r.buf), 1<<20, smallest)
	}
}

// TestModel does random operations on a ring and on a slice.
func TestModel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	var r Ring[int]
	var model []int
	for i := range 200_000 {
		grow := 10 // of 20
		if i/1000%2 == 0 {
			grow = 14
		}
		switch n := rnd.IntN(20); {
		case n < grow || len(model) == 0:
			r.Add(i)
			model = append(model, i)
		case n == 19:
			if got, want := r.TakeLast(), model[len(model)-1]; got != want {
				t.Fatalf("step %d: the last is %d, want %d", i, got, want)
			}
			model = model[:len(model)-1]
		default:
			if got := r.Take(); got != model[0] {
				t.Fatalf("step %d: the first is %d, want %d", i, got, model[0])
			}
			model = model[1:]
		}
		if r.Len() != len(model) || len(model) > 0 && *r.At(len(model) / 2) != model[len(model)/2] {
			t.Fatalf("step %d: the ring differs from the slice", i)
		}
	}
}

// TestRelease: an empty ring that was long has no slice, one with a value keeps it.
func TestRelease(t *testing.T) {
	var r Ring[int]
	for i := range 1000 {
		r.Add(i)
	}
	for range 999 {
		r.Take()
	}
	if r.Release(); r.Len() != 1 || *r.At(0) != 999 {
		t.Errorf("%d values are left of 1", r.Len())
	}
	r.Take()
	if r.Release(); len(r.buf) != 0 {
		t.Errorf("an empty ring has %d places", len(r.buf))
	}
	if r.Add(1); r.Take() != 1 {
		t.Error("another value was taken than was added")
	}
}
