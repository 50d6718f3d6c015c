// Package moment keeps what will happen in a cluster, in the order of time.
//
// The law: of two moments at one instant, the one that was set first happens first. Setting,
// moving and dropping one allocate nothing.
package moment

import (
	"math"
	"time"
	"unsafe"

	"github.com/rondo-go/rondo/internal/timers"
)

// Origin is the instant at which a simulation begins: far from zero, so that an instant
// that was mistaken for a duration is easy to notice.
const Origin = int64(1000 * time.Hour)

// Never is an instant that does not come.
const Never = int64(math.MaxInt64)

// After returns the instant that is d after another, and Never if there is none so late.
func After(at int64, d time.Duration) int64 {
	if int64(d) > Never-at {
		return Never
	}
	return at + int64(d)
}

// An Occurrence is something that can happen.
type Occurrence interface{ Happen() }

// A Moment is the next time at which something happens. It is a field of the thing that it
// happens to. The zero moment is never.
type Moment struct {
	What  Occurrence
	place int32 // in the heap, plus one; 0: it is not set
}

// IsSet reports whether m will happen.
func (m *Moment) IsSet() bool { return m.place != 0 }

// A Heap holds the moments that are set. Make it with New.
type Heap struct{ heap timers.Heap[Moment, byte] }

// New returns a Heap without moments.
func New() Heap {
	return Heap{timers.New[Moment, byte](unsafe.Offsetof(Moment{}.place), 0)}
}

// First returns the moment that happens next, with its instant, or nil.
func (h *Heap) First() (m *Moment, at int64) {
	if h.heap.Len() == 0 {
		return nil, 0
	}
	next := h.heap.First()
	return next.Worker, next.When
}

// Put makes m happen at an instant, and at no other.
func (h *Heap) Put(m *Moment, at int64) {
	h.Drop(m)
	h.heap.Set(at, m, nil)
}

// Drop makes m not happen.
func (h *Heap) Drop(m *Moment) {
	if m.IsSet() {
		h.heap.Remove(m.place)
	}
}
