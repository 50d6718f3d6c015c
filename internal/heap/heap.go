// Package heap has the heap behind rondo.NewPriorityQueue.
//
// The law: adding and taking a value costs logarithmic time, and a heap that is
// three quarters empty frees half of its memory.
package heap

import "slices"

// kept is the number of values for which a heap keeps its memory.
const kept = 256

// A Heap holds values, of which the least is next, and of equals the one that was
// added first. No element is less than the one above it; below the one at i are
// those at 2i+1 and 2i+2.
type Heap[T any] struct {
	less func(a, b T) bool
	all  []ranked[T]
	adds uint64
}

// ranked is a value with the number of its Add, which decides among equals.
type ranked[T any] struct {
	value T
	add   uint64
}

func (h *Heap[T]) before(a, b *ranked[T]) bool {
	if h.less(a.value, b.value) {
		return true
	}
	return a.add < b.add && !h.less(b.value, a.value)
}

// New returns an empty Heap. less must be a strict weak order.
func New[T any](less func(a, b T) bool) *Heap[T] { return &Heap[T]{less: less} }

// Len returns how many values the heap holds.
func (h *Heap[T]) Len() int { return len(h.all) }

// Add adds v.
func (h *Heap[T]) Add(v T) {
	h.adds++
	h.all = append(h.all, ranked[T]{v, h.adds})
	for i := len(h.all) - 1; i > 0; {
		above := (i - 1) / 2
		if !h.before(&h.all[i], &h.all[above]) {
			return
		}
		h.all[i], h.all[above] = h.all[above], h.all[i]
		i = above
	}
}

// Take removes the least value and returns it. The heap must not be empty.
func (h *Heap[T]) Take() T {
	v := h.all[0].value
	n := len(h.all) - 1
	h.all[0] = h.all[n]
	h.all[n] = ranked[T]{}
	h.all = h.all[:n]
	if n == cap(h.all)/4 && n >= kept {
		h.all = append(make([]ranked[T], 0, cap(h.all)/2), h.all...)
	}
	for i := 0; ; {
		least := i
		for _, below := range [2]int{2*i + 1, 2*i + 2} {
			if below < n && h.before(&h.all[below], &h.all[least]) {
				least = below
			}
		}
		if least == i {
			return v
		}
		h.all[i], h.all[least] = h.all[least], h.all[i]
		i = least
	}
}

// Keep drops all but the n least. What is sorted is a heap.
func (h *Heap[T]) Keep(n int) {
	slices.SortFunc(h.all, func(a, b ranked[T]) int {
		switch {
		case h.before(&a, &b):
			return -1
		case h.before(&b, &a):
			return 1
		}
		return 0
	})
	clear(h.all[n:])
	h.all = h.all[:n]
}
