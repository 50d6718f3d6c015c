// Package heap has the heap behind rondo.NewPriorityQueue.
//
// The law: adding and taking a value costs logarithmic time, and a heap that is
// three quarters empty frees half of its memory. less is the program's, and nothing has
// changed when it is called: if it panics, the heap is as it was.
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
	added := ranked[T]{v, h.adds + 1}
	at := len(h.all)
	for at > 0 && h.before(&added, &h.all[(at-1)/2]) {
		at = (at - 1) / 2
	}
	// From here on nothing calls less.
	h.adds++
	h.all = append(h.all, added)
	for i := len(h.all) - 1; i > at; i = (i - 1) / 2 {
		h.all[i] = h.all[(i-1)/2]
	}
	h.all[at] = added
}

// Take removes the least value and returns it. The heap must not be empty.
func (h *Heap[T]) Take() T {
	n := len(h.all) - 1
	last := h.all[n]
	at := h.place(&last, n)
	// From here on nothing calls less.
	moved := last
	for ; at > 0; at = (at - 1) / 2 {
		moved, h.all[at] = h.all[at], moved
	}
	moved, h.all[0] = h.all[0], moved
	h.all[n] = ranked[T]{}
	h.all = h.all[:n]
	if n == cap(h.all)/4 && n >= kept {
		h.all = append(make([]ranked[T], 0, cap(h.all)/2), h.all...)
	}
	return moved.value
}

// place returns where last goes if the first of n others is taken, and those between
// move up.
func (h *Heap[T]) place(last *ranked[T], n int) int {
	for at := 0; ; {
		least, next := last, at
		for _, below := range [2]int{2*at + 1, 2*at + 2} {
			if below < n && h.before(&h.all[below], least) {
				least, next = &h.all[below], below
			}
		}
		if next == at {
			return at
		}
		at = next
	}
}

// Keep drops all but the n least. What is sorted is a heap.
func (h *Heap[T]) Keep(n int) {
	if n == 0 {
		clear(h.all)
		h.all = h.all[:0]
		return
	}
	sorted := slices.Clone(h.all)
	slices.SortFunc(sorted, func(a, b ranked[T]) int {
		switch {
		case h.before(&a, &b):
			return -1
		case h.before(&b, &a):
			return 1
		}
		return 0
	})
	clear(sorted[n:])
	h.all = sorted[:n]
}
