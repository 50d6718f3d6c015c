package rondo

import (
	"slices"
	"testing"

	"github.com/rondo-go/rondo/internal/heap"
)

// TestBuffer puts the same values into a buffer of each kind, and takes some, keeps
// some and takes the rest.
func TestBuffer(t *testing.T) {
	for _, c := range []struct {
		kind   string
		buffer buffer[int]
		order  []int // in which 3 1 4 1 5 9 2 6 are taken
	}{
		{"first", buffer[int]{}, []int{3, 1, 4, 1, 5, 9, 2, 6}},
		{"last", buffer[int]{last: true}, []int{6, 2, 9, 5, 1, 4, 1, 3}},
		{"least", buffer[int]{heap: heap.New(func(a, b int) bool { return a < b })}, []int{1, 1, 2, 3, 4, 5, 6, 9}},
	} {
		b := c.buffer
		for _, v := range []int{3, 1, 4, 1, 5, 9, 2, 6} {
			b.put(v)
		}
		var taken []int
		for range 2 {
			taken = append(taken, b.take())
		}
		b.keep(3)
		if b.len() != 3 {
			t.Errorf("%s: of 3 values that are kept, %d are left", c.kind, b.len())
		}
		for b.len() > 0 {
			taken = append(taken, b.take())
		}
		if !slices.Equal(taken, c.order[:5]) {
			t.Errorf("%s: taken were %v, want %v", c.kind, taken, c.order[:5])
		}
	}
}
