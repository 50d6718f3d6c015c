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

// TestShrinks fills a ring once and then uses little of it: the memory of the burst is given back,
// half of it each time that the ring has become empty patience times.
func TestShrinks(t *testing.T) {
	for name, take := range map[string]func(r *Ring[int]) int{"Take": (*Ring[int]).Take, "TakeLast": (*Ring[int]).TakeLast} {
		var r Ring[int]
		for i := range 1 << 20 {
			r.Add(i)
		}
		for range 1<<20 - 1 {
			take(&r)
		}
		for want := 1 << 20; want > smallest; want /= 2 {
			for range patience {
				if len(r.buf) != want {
					t.Fatalf("%s: the slice has %d places, want %d", name, len(r.buf), want)
				}
				take(&r)
				r.Add(1)
			}
		}
		for range 2 * patience {
			take(&r)
			r.Add(1)
		}
		if len(r.buf) != smallest {
			t.Errorf("%s: the slice has %d places in the end, want %d", name, len(r.buf), smallest)
		}
	}
}

// TestModel does random operations on a ring and on a slice. The ring keeps no value that was
// taken.
func TestModel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	var r Ring[int]
	var model []int
	steps := 200_000
	if testing.Short() {
		steps = 20_000
	}
	for i := 1; i <= steps; i++ {
		grow := 10 // of 23
		if i/1000%2 == 0 {
			grow = 14
		}
		switch n := rnd.IntN(23); {
		case n < grow || len(model) == 0:
			r.Add(i)
			model = append(model, i)
		case n == 19:
			if got, want := r.TakeLast(), model[len(model)-1]; got != want {
				t.Fatalf("step %d: the last is %d, want %d", i, got, want)
			}
			model = model[:len(model)-1]
		case n == 20:
			at := rnd.IntN(len(model))
			r.MoveToEnd(at)
			v := model[at]
			model = append(append(model[:at:at], model[at+1:]...), v)
		case n == 21:
			r.Rotate(i)
			model = append(model[1:], i)
		case n == 22:
			a, b := rnd.IntN(len(model)), rnd.IntN(len(model))
			r.Swap(a, b)
			model[a], model[b] = model[b], model[a]
		default:
			if got := r.Take(); got != model[0] {
				t.Fatalf("step %d: the first is %d, want %d", i, got, model[0])
			}
			model = model[1:]
		}
		if r.Len() != len(model) || len(model) > 0 && *r.At(len(model) / 2) != model[len(model)/2] {
			t.Fatalf("step %d: the ring differs from the slice", i)
		}
		for at := 0; i%97 == 0 && at < len(r.buf)-r.n; at++ {
			if kept := *r.At(r.n + at); kept != 0 {
				t.Fatalf("step %d: the ring keeps %d, which is none of its values", i, kept)
			}
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
	for i := range smallest {
		r.Add(i)
	}
	for want := range smallest {
		if got := r.Take(); got != want {
			t.Errorf("%d was taken, want %d", got, want)
		}
	}
	if r.Release(); len(r.buf) != smallest {
		t.Errorf("a slice of %d places has %d after Release", smallest, len(r.buf))
	}
}
