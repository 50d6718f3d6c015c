// Package timers has the heap of a loop's timers, ordered by instant, and by age
// where the instants are equal.
//
// The law: a timer that is cancelled leaves the heap at once, so cancelled ones
// never pile up.
//
// A timer is set for a worker or for a callback, and that record keeps the timer's
// place in the heap plus one, and 0 while there is none. As in package list, the
// heap knows the field by its offset, so nothing is allocated or looked up.
package timers

import (
	"math"
	"unsafe"
)

// Never is what Next returns for a heap without timers.
const Never int64 = math.MaxInt64

// A Heap has the timers of a loop with workers of type W and callbacks of type C.
// Make one with New.
type Heap[W, C any] struct {
	heap     []Timer[W, C]
	last     uint64
	atWorker uintptr
	atCall   uintptr
}

// A Timer is one entry of the heap. Exactly one of Worker and Call is set: whose
// task, or which callback, is made ready when it is due.
type Timer[W, C any] struct {
	When   int64
	age    uint64
	Worker *W
	Call   *C
}

// HeapAt is where in a Heap its slice of timers stands, for those who look into the
// program from outside.
const HeapAt = unsafe.Offsetof(Heap[byte, byte]{}.heap)

// kept is the number of timers for which a heap keeps its memory; of more memory it
// frees half when it is three quarters empty.
const kept = 1024

// New returns an empty heap. A worker keeps its place, an int32, at the offset
// atWorker, and a callback at the offset atCall.
func New[W, C any](atWorker, atCall uintptr) Heap[W, C] {
	return Heap[W, C]{atWorker: atWorker, atCall: atCall}
}

// Len returns how many timers are set.
func (h *Heap[W, C]) Len() int { return len(h.heap) }

// Next returns the instant of the first timer, or Never.
func (h *Heap[W, C]) Next() int64 {
	if len(h.heap) == 0 {
		return Never
	}
	return h.heap[0].When
}

// First returns the first timer. There must be one.
func (h *Heap[W, C]) First() Timer[W, C] { return h.heap[0] }

// Set sets a timer for a worker or for a callback, which must have none.
func (h *Heap[W, C]) Set(when int64, w *W, c *C) {
	h.last++
	h.heap = append(h.heap, Timer[W, C]{when, h.last, w, c})
	h.up(len(h.heap) - 1)
}

// Remove takes the timer at a place out of the heap. The first one is at place 1.
func (h *Heap[W, C]) Remove(place int32) {
	i := int(place) - 1
	*h.place(i) = 0
	last := len(h.heap) - 1
	h.heap[i] = h.heap[last]
	h.heap[last] = Timer[W, C]{}
	h.heap = h.heap[:last]
	if last == cap(h.heap)/4 && last >= kept {
		h.heap = append(make([]Timer[W, C], 0, cap(h.heap)/2), h.heap...)
	}
	if i < last && !h.down(i) {
		h.up(i)
	}
}

func (a *Timer[W, C]) before(b *Timer[W, C]) bool {
	return a.When < b.When || a.When == b.When && a.age < b.age
}

// place returns where the place of the timer at index i is kept.
func (h *Heap[W, C]) place(i int) *int32 {
	e := &h.heap[i]
	if e.Worker != nil {
		return (*int32)(unsafe.Add(unsafe.Pointer(e.Worker), h.atWorker))
	}
	return (*int32)(unsafe.Add(unsafe.Pointer(e.Call), h.atCall))
}

// moved notes that a timer is at index i now.
func (h *Heap[W, C]) moved(i int) { *h.place(i) = int32(i + 1) }

// up moves the timer at index i to where none above it comes after it. Each timer
// has four children: the heap is half as deep as a binary one, and the four lie
// side by side.
func (h *Heap[W, C]) up(i int) {
	e := h.heap[i]
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&h.heap[parent]) {
			break
		}
		h.heap[i] = h.heap[parent]
		h.moved(i)
		i = parent
	}
	h.heap[i] = e
	h.moved(i)
}

// down moves the timer at index i to where it is before all below it, and
// reports whether that is another place.
func (h *Heap[W, C]) down(i int) bool {
	e, start := h.heap[i], i
	for {
		first := 4*i + 1
		if first >= len(h.heap) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(h.heap)); c++ {
			if h.heap[c].before(&h.heap[least]) {
				least = c
			}
		}
		if !h.heap[least].before(&e) {
			break
		}
		h.heap[i] = h.heap[least]
		h.moved(i)
		i = least
	}
	h.heap[i] = e
	h.moved(i)
	return i != start
}
