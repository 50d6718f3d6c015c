package buffer

import (
	"slices"
	"testing"
)

// TestBuffer puts the same values into a buffer of each kind, and takes some, keeps
// some and takes the rest.
func TestBuffer(t *testing.T) {
	for _, c := range []struct {
		kind   string
		buffer Buffer[int]
		order  []int // in which 3 1 4 1 5 9 2 6 are taken
	}{
		{"first", Buffer[int]{}, []int{3, 1, 4, 1, 5, 9, 2, 6}},
		{"last", Last[int](), []int{6, 2, 9, 5, 1, 4, 1, 3}},
		{"least", Least(func(a, b int) bool { return a < b }), []int{1, 1, 2, 3, 4, 5, 6, 9}},
	} {
		b := c.buffer
		for _, v := range []int{3, 1, 4, 1, 5, 9, 2, 6} {
			b.Put(v)
		}
		var taken []int
		for range 2 {
			taken = append(taken, b.Take())
		}
		b.Keep(3)
		if b.Len() != 3 {
			t.Errorf("%s: of 3 values that are kept, %d are left", c.kind, b.Len())
		}
		for b.Len() > 0 {
			taken = append(taken, b.Take())
		}
		if !slices.Equal(taken, c.order[:5]) {
			t.Errorf("%s: taken were %v, want %v", c.kind, taken, c.order[:5])
		}
	}
}
