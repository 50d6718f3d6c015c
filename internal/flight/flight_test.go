package flight_test

import (
	"testing"
	"unsafe"

	"github.com/rondo-go/rondo/internal/flight"
)

// TestRecordIsBounded: a record is at most 1 MiB, and the newest entry takes the place of the
// oldest.
func TestRecordIsBounded(t *testing.T) {
	r := flight.New()
	if n := unsafe.Sizeof(*r); n > 1<<20 {
		t.Errorf("a record has %d bytes", n)
	}
	const n = flight.Steps + 3
	for i := range uint64(n) {
		r.Step(i+1, uint32(i))
		r.Mark(int64(i), i+2, i+3, i)
		r.Start(i, uintptr(i))
	}
	if r.Ran != n || r.Marked != n || r.Began != n {
		t.Errorf("it counts %d, %d, %d of %d", r.Ran, r.Marked, r.Began, n)
	}
	for i := uint64(3); i < n; i++ {
		if got, want := r.Steps[i%flight.Steps], (flight.Step{Task: uint32(i + 1), By: uint32(i)}); got != want {
			t.Fatalf("step %d is %v", i, got)
		}
	}
	for i := uint64(n - flight.Marks); i < n; i++ {
		if got, want := r.Marks[i%flight.Marks], (flight.Mark{At: int64(i), Ran: uint32(i + 1), Taken: uint32(i + 2), Ready: uint32(i + 3), Task: uint32(i)}); got != want {
			t.Fatalf("mark %d is %v", i, got)
		}
	}
}

// TestCopy: what a reader copies of the memory is the record.
func TestCopy(t *testing.T) {
	r, c, h := flight.New(), new(flight.Record), new(flight.Head)
	r.Step(7, 8)
	r.Mark(9, 1, 2, flight.Asleep)
	copy(c.Bytes(), r.Bytes())
	copy(h.Bytes(), r.Bytes())
	if *c != *r || *h != r.Head || h.Format != flight.Format {
		t.Error("a copy is another record")
	}
}
