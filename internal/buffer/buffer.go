// Package buffer has the values of a rondo.Queue. It alone knows which is next: the
// one that was put first, the one that was put last, or the least.
package buffer

import (
	"github.com/rondo-go/rondo/internal/heap"
	"github.com/rondo-go/rondo/internal/ring"
)

// A Buffer holds values. They are in the ring, in the order in which they were put,
// unless there is a heap. The zero value is empty, and the first value is next.
type Buffer[T any] struct {
	ring ring.Ring[T]
	last bool          // the last one is next
	heap *heap.Heap[T] // nil unless the least is next
}

// Last returns an empty Buffer of which the value that was put last is next.
func Last[T any]() Buffer[T] { return Buffer[T]{last: true} }

// Least returns an empty Buffer of which the least value is next, and of equals the
// one that was put first. less must be a strict weak order.
func Least[T any](less func(a, b T) bool) Buffer[T] { return Buffer[T]{heap: heap.New(less)} }

// Len returns how many values there are.
func (b *Buffer[T]) Len() int {
	if b.heap != nil {
		return b.heap.Len()
	}
	return b.ring.Len()
}

// Put adds v.
func (b *Buffer[T]) Put(v T) {
	if b.heap != nil {
		b.heap.Add(v)
		return
	}
	b.ring.Add(v)
}

// Take removes the value that is next and returns it. There must be one.
func (b *Buffer[T]) Take() T {
	switch {
	case b.heap != nil:
		return b.heap.Take()
	case b.last:
		return b.ring.TakeLast()
	}
	return b.ring.Take()
}

// Keep drops all but the n values that are next.
func (b *Buffer[T]) Keep(n int) {
	if b.heap != nil {
		b.heap.Keep(n)
		return
	}
	for b.ring.Len() > n {
		if b.last {
			b.ring.Take()
		} else {
			b.ring.TakeLast()
		}
	}
}
