package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/sim"
)

// checkHistory fails unless the operations can be put into one order in which each read
// returns what was written last, and an operation that ended before another began comes
// first (Wing and Gong: Testing and Verifying Concurrent Objects, 1993). An operation
// without an answer may be anywhere after its begin, or nowhere.
func checkHistory(t testing.TB, h *sim.History[operation, string]) {
	var ops []*sim.Op[operation, string]
	for o := range h.All() {
		ops = append(ops, o)
	}
	if len(ops) > 64 {
		t.Fatalf("%d operations are too many to check", len(ops))
	}
	s := search{ops: ops, seen: make(map[string]bool)}
	if !s.order(0, "") {
		var b strings.Builder
		for _, o := range ops {
			what := "read " + strconvQuote(o.Out)
			if o.In.write != "" {
				what = "wrote " + strconvQuote(o.In.write)
			}
			if o.Returned == sim.Pending {
				fmt.Fprintf(&b, "\n\t%4d to    ?: %s, perhaps", o.Called, what)
			} else {
				fmt.Fprintf(&b, "\n\t%4d to %4d: %s", o.Called, o.Returned, what)
			}
		}
		t.Errorf("no order of these operations explains what was read:%s", b.String())
	}
}

func strconvQuote(s string) string { return fmt.Sprintf("%q", s) }

// A search looks for an order.
type search struct {
	ops  []*sim.Op[operation, string]
	seen map[string]bool
}

// order reports whether the operations that are not in done can follow, when the
// register has a value.
func (s *search) order(done uint64, value string) bool {
	first := int64(sim.Pending) // when the first of the others ends
	left := false
	for i, o := range s.ops {
		if done>>i&1 == 0 {
			first = min(first, o.Returned)
			left = left || o.Returned != sim.Pending
		}
	}
	if !left {
		return true
	}
	state := fmt.Sprint(done, " ", value)
	if s.seen[state] {
		return false
	}
	s.seen[state] = true
	for i, o := range s.ops {
		if done>>i&1 != 0 || o.Called > first {
			continue
		}
		next := value
		if o.In.write != "" {
			next = o.In.write
		} else if o.Out != value {
			continue
		}
		if s.order(done|1<<i, next) {
			return true
		}
	}
	return false
}
