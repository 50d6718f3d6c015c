package list

import (
	"slices"
	"testing"
)

// TestLazy marks elements in turns, and looks that they are dropped and the order is
// kept.
func TestLazy(t *testing.T) {
	type element struct {
		number int
		marked bool
	}
	isMarked := func(e *element) bool { return e.marked }
	var l Lazy[element]
	var all []*element
	for i := range 1000 {
		all = append(all, &element{number: i})
		l.Add(all[i])
	}
	var want []*element
	for i, e := range all {
		if i%3 == 0 {
			want = append(want, e)
			continue
		}
		e.marked = true
		l.Marked(isMarked)
	}
	if len(l.all) > 2*len(want) {
		t.Errorf("there is room for %d elements, and %d are left", len(l.all), len(want))
	}
	if got := slices.DeleteFunc(l.Take(), isMarked); !slices.Equal(got, want) {
		t.Errorf("%d elements are left, want %d", len(got), len(want))
	}
	if l.Take() != nil {
		t.Error("something is left after Take")
	}
	for range 1000 {
		e := new(element)
		l.Add(e)
		e.marked = true
		l.Marked(isMarked)
	}
	if len(l.all) > 0 {
		t.Errorf("%d marked elements have piled up", len(l.all))
	}
}
