package line

import (
	"slices"
	"testing"
)

// TestLine adds members that ask for different things, and takes the runs off.
func TestLine(t *testing.T) {
	var l Line[[]int]
	add := func(n int, write bool) {
		r := l.Last(write)
		r.List = append(r.List, n)
		r.Counted++
	}
	for i, write := range []bool{true, false, false, true, true, false} {
		add(i, write)
	}
	var kept *Run[[]int]
	for _, want := range []struct {
		write bool
		list  []int
	}{{true, []int{0}}, {false, []int{1, 2}}, {true, []int{3, 4}}, {false, []int{5}}} {
		r := l.Head()
		if r == nil || r.Write != want.write || !slices.Equal(r.List, want.list) {
			t.Fatalf("the head is %+v, want %+v", r, want)
		}
		r.List = nil
		if want.write {
			r.Counted = 0
		} else {
			kept = r // as if a member had been cancelled and not run since
		}
		l.Shorten()
	}
	if l.Head() != nil {
		t.Error("the line is not empty")
	}
	for i, write := range []bool{true, false, true} {
		add(i, write)
	}
	for r := l.Head(); r != nil; r = l.Head() {
		if r == kept || r.Counted != 1 {
			t.Errorf("a run that still counted a member is used again: %+v", r)
		}
		l.Shorten()
	}
	free := testing.AllocsPerRun(100, func() {
		l.Last(true).Counted = 0
		l.Shorten()
	})
	if free > 0 {
		t.Errorf("a run costs %v allocations although there is one to spare", free)
	}
}
