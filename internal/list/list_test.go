package list

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

type element struct {
	name  int
	links Links[element]
}

const at = unsafe.Offsetof(element{}.links)

func names(l *List[element]) (out []int) {
	for e := range l.All(at) {
		out = append(out, e.name)
	}
	return out
}

func TestAddAndRemove(t *testing.T) {
	var l List[element]
	a, b, c := &element{name: 1}, &element{name: 2}, &element{name: 3}
	l.Add(a, at)
	l.Add(b, at)
	l.Add(c, at)
	l.Remove(b, at)
	if got := names(&l); !slices.Equal(got, []int{1, 3}) || l.First() != a {
		t.Fatalf("after 1, 2, 3 were added and 2 removed the list has %v", got)
	}
	if b.links != (Links[element]{}) {
		t.Fatal("an element that is in no list has neighbours")
	}
}

// TestRemoveWhileRanging removes each element from the body that is given it.
func TestRemoveWhileRanging(t *testing.T) {
	var l List[element]
	for i := range 5 {
		l.Add(&element{name: i}, at)
	}
	n := 0
	for e := range l.All(at) {
		l.Remove(e, at)
		n++
	}
	if n != 5 || l.First() != nil {
		t.Fatalf("the body ran %d times and %v is left; want 5 times and nothing", n, names(&l))
	}
}

// TestModel does random operations on a list and on a slice.
func TestModel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	var l List[element]
	var model []*element
	for i := range 20_000 {
		if len(model) == 0 || rnd.IntN(20) < 10 {
			e := &element{name: i}
			l.Add(e, at)
			model = append(model, e)
		} else {
			k := rnd.IntN(len(model))
			l.Remove(model[k], at)
			model = slices.Delete(model, k, k+1)
		}
		if i%50 == 0 {
			if got := slices.Collect(l.All(at)); !slices.Equal(got, model) {
				t.Fatalf("after %d steps the list differs from the slice", i)
			}
		}
	}
}
