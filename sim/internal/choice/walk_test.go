package choice

import (
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
)

// TestWalk: a run follows the path, and then takes the first branch of each fork, which it adds to
// what is known. One thing is no fork. What does not fit the path is said, and so is a run that
// ends before it.
func TestWalk(t *testing.T) {
	task := func(i int) uint64 { return uint64(i + 1) }
	for _, one := range []struct {
		chosen, among []int
		fixed         bool
		forks, want   []int // among how many things each choice is, and which is chosen
		known         []int // among how many things each fork is afterwards
		off           string
	}{
		{[]int{1, 2}, []int{2, 3}, false, []int{2, 1, 3, 4}, []int{1, 0, 2, 0}, []int{2, 3, 4}, ""},
		{nil, nil, false, []int{2, 3}, []int{0, 0}, []int{2, 3}, ""},
		{[]int{1, 1}, []int{2, 3}, false, []int{2, 5, 2}, []int{1, 0, 0}, []int{2, 3, 2}, "choice 2 is among 5 things"},
		{[]int{3}, nil, false, []int{4}, []int{3}, []int{4}, ""},
		{[]int{3}, nil, false, []int{3}, []int{0}, []int{3}, "choice 1 is among 3 things"},
		{[]int{1, 1}, nil, false, []int{2}, []int{1}, []int{2}, "it ends with choice 1"},
		{nil, nil, true, []int{2, 3}, []int{0, 0}, nil, ""},
	} {
		w := &Walk{Chosen: one.chosen, Among: one.among, Fixed: one.fixed}
		var got []int
		for _, n := range one.forks {
			got = append(got, w.Choose(n, task))
		}
		if !slices.Equal(got, one.want) || !slices.Equal(w.Among, one.known) || w.Off() != one.off {
			t.Errorf("%+v: %v, forks among %v, %q", one, got, w.Among, w.Off())
		}
	}
}

// TestWalkLine: the callbacks of the line are one branch, which takes the first of them.
func TestWalkLine(t *testing.T) {
	queue := []uint64{7, driver.Line, driver.Line, 9, 0, 0}
	for branch, want := range []int{0, 1, 3, 4, 5} {
		w := &Walk{Chosen: []int{branch}}
		if got := w.Choose(len(queue), func(i int) uint64 { return queue[i] }); got != want || w.Among[0] != 5 {
			t.Errorf("branch %d of %d is place %d, want %d of 5", branch, w.Among[0], got, want)
		}
	}
}

// TestWalkLate: whether a loop wakes up late is a fork, if it may.
func TestWalkLate(t *testing.T) {
	late, exact := &Walk{Late: time.Second, Chosen: []int{1}}, &Walk{Chosen: []int{1}}
	for _, want := range []time.Duration{time.Second, 0} {
		if got := late.Oversleeps(); got != want || exact.Oversleeps() != 0 {
			t.Errorf("it is %v late, want %v", got, want)
		}
	}
	if len(late.Among) != 2 || len(exact.Among) != 0 {
		t.Errorf("%v and %v are forks", late.Among, exact.Among)
	}
}

// TestStrike: the words of a fault, and none for what is none.
func TestStrike(t *testing.T) {
	for value, want := range map[uint64]string{
		0: "", 1: "a partition cut off a", 2<<WhomShift | 2: "a crashed", uint64(Faults): "a got wrong addresses for names", uint64(Faults) + 1: "",
	} {
		if got := Strike(value, "a"); got != want {
			t.Errorf("%#x: %q, want %q", value, got, want)
		}
	}
}

// TestPackDelay: a delay has 16 bits, and is read as the same or a little more.
func TestPackDelay(t *testing.T) {
	for _, d := range []time.Duration{0, 1, 2, 1023, 1024, 1025, 2046, 2047, 2048, time.Millisecond, time.Hour, 1<<40 - 1, 1 << 40} {
		v := PackDelay(d)
		if got := UnpackDelay(v); v > 0xffff || got < d || got > d+d/511 {
			t.Errorf("%d is packed as %#x and read as %d", d, v, got)
		}
	}
}
