// Package ring has a first-in, first-out queue in one slice that grows and
// shrinks. It is the one implementation behind the loop's queue and rondo.Queue.
//
// The law: adding and taking a value costs constant time on average, and the
// slice is never longer for long than some four times what the ring has held
// lately (see emptied).
package ring

import "unsafe"

// A Ring holds values in the order in which they were added. The zero value is
// empty.
type Ring[T any] struct {
	buf     []T // its length is a power of two
	head    int
	n       int
	emptied int // how often it became empty since buf was made
}

const (
	smallest = 64 // a slice of this length is kept for ever

	// patience is how often a ring becomes empty before its slice is halved. A
	// ring that is filled and emptied in turns grows back once in that many
	// rounds, which costs little.
	patience = 32
)

// Len returns how many values the ring holds.
func (r *Ring[T]) Len() int { return r.n }

// Add puts v at the end.
func (r *Ring[T]) Add(v T) {
	if r.n == len(r.buf) {
		r.resize(max(8, 2*len(r.buf)))
	}
	r.buf[(r.head+r.n)&(len(r.buf)-1)] = v
	r.n++
}

// Take removes the first value and returns it. The ring must not be empty.
func (r *Ring[T]) Take() T {
	var none T
	v := r.buf[r.head]
	r.buf[r.head] = none
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
	if r.n == 0 && len(r.buf) > smallest {
		r.shrink()
	}
	return v
}

// Rotate puts v at the end and removes the first value. The ring must not be empty.
func (r *Ring[T]) Rotate(v T) {
	var none T
	r.buf[r.head] = none
	r.buf[(r.head+r.n)&(len(r.buf)-1)] = v // the same place if the ring is full
	r.head = (r.head + 1) & (len(r.buf) - 1)
}

// TakeLast removes the last value and returns it. The ring must not be empty.
func (r *Ring[T]) TakeLast() T {
	var none T
	last := r.At(r.n - 1)
	v := *last
	*last = none
	r.n--
	if r.n == 0 && len(r.buf) > smallest {
		r.shrink()
	}
	return v
}

// Release gives the slice back if it is long and the ring is empty. It is for a ring
// that is filled seldom, and may not become empty again for a long time.
func (r *Ring[T]) Release() {
	if r.n == 0 && len(r.buf) > smallest {
		*r = Ring[T]{}
	}
}

// At returns the place of the value that is i values behind the first, until the
// ring changes.
func (r *Ring[T]) At(i int) *T { return &r.buf[(r.head+i)&(len(r.buf)-1)] }

// Swap exchanges the values that are i and j values behind the first.
func (r *Ring[T]) Swap(i, j int) {
	a, b := r.At(i), r.At(j)
	*a, *b = *b, *a
}

// MoveToEnd puts the value that is i values behind the first at the end.
func (r *Ring[T]) MoveToEnd(i int) {
	v := *r.At(i)
	for ; i < r.n-1; i++ {
		*r.At(i) = *r.At(i + 1)
	}
	*r.At(i) = v
}

// shrink is called when a long ring has become empty.
func (r *Ring[T]) shrink() {
	if r.emptied++; r.emptied == patience {
		r.resize(len(r.buf) / 2)
	}
}

// resize moves the values into a slice of the given length.
func (r *Ring[T]) resize(length int) {
	buf := make([]T, length)
	for i := range r.n {
		buf[i] = *r.At(i)
	}
	r.buf, r.head, r.emptied = buf, 0, 0
}

// LengthAt is where in a Ring its length stands, for those who look into the
// program from outside.
const LengthAt = unsafe.Offsetof(Ring[byte]{}.n)
