// Package linear checks what the clients of a store saw: whether one store without
// concurrency could have answered so, one operation after the other.
package linear

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/sim"
)

// A Model is what the store should be, with states of type S.
type Model[S comparable, In, Out any] struct {
	// Init is the first state.
	Init S

	// Step returns the state after an operation, and whether the store may answer so in
	// the state before it. known is false if nobody knows the answer.
	Step func(before S, in In, out Out, known bool) (after S, ok bool)
}

// Check fails the test unless the operations can be put into one order that the model
// explains, in which an operation that ended before another began comes first (Wing and
// Gong: Testing and Verifying Concurrent Objects, 1993). An operation without an answer
// may be anywhere after its begin, or nowhere. The fewer of these there are, the better:
// each may double the work. Check gives up, and fails the test, with more than 64
// operations, and after a million states.
func (m Model[S, In, Out]) Check(t testing.TB, ops []*sim.Op[In, Out]) {
	t.Helper()
	s := search[S, In, Out]{model: m, ops: ops, seen: make(map[point[S]]bool)}
	if len(ops) > 64 {
		t.Fatalf("%d operations are too many to check", len(ops))
	}
	ok := s.order(0, m.Init)
	if len(s.seen) >= most {
		t.Fatalf("the check of %d operations has seen %d states and gives up:%s", len(ops), most, text(ops))
	}
	record(t, ops, ok)
	if !ok {
		t.Errorf("no order of these operations explains what was read:%s", text(ops))
	}
}

// most is how many states a search looks at, at most.
const most = 1_000_000

// A search looks for an order.
type search[S comparable, In, Out any] struct {
	model Model[S, In, Out]
	ops   []*sim.Op[In, Out]
	seen  map[point[S]]bool // from where there is no order
}

// A point is a set of operations that are done, and the state that they made.
type point[S comparable] struct {
	done  uint64
	state S
}

// order reports whether the operations that are not in done can follow, in a state.
func (s *search[S, In, Out]) order(done uint64, state S) bool {
	first := sim.Pending // when the first of the others ends
	for i, o := range s.ops {
		if done>>i&1 == 0 {
			first = min(first, o.Returned)
		}
	}
	if first == sim.Pending {
		return true
	}
	at := point[S]{done, state}
	if s.seen[at] || len(s.seen) >= most {
		return false
	}
	for i, o := range s.ops {
		if done>>i&1 != 0 || o.Called > first {
			continue
		}
		if next, ok := s.model.Step(state, o.In, o.Out, o.Returned != sim.Pending); ok && s.order(done|1<<i, next) {
			return true
		}
	}
	s.seen[at] = true
	return false
}

// text returns the operations, a line for each.
func text[In, Out any](ops []*sim.Op[In, Out]) string {
	var b strings.Builder
	for _, o := range ops {
		if o.Returned == sim.Pending {
			fmt.Fprintf(&b, "\n\t%4d to    ?: %v", o.Called, o.In)
		} else {
			fmt.Fprintf(&b, "\n\t%4d to %4d: %v returned %v", o.Called, o.Returned, o.In, o.Out)
		}
	}
	return b.String()
}

// A Record is a history that was checked, as other checkers can read it.
type Record[In, Out any] struct {
	Test       string
	Operations []*sim.Op[In, Out]
	OK         bool
}

// record appends the history, as a line of JSON, to the file that the environment variable
// RONDO_HISTORIES names.
func record[In, Out any](t testing.TB, ops []*sim.Op[In, Out], ok bool) {
	name := os.Getenv("RONDO_HISTORIES")
	if name == "" {
		return
	}
	line, err := json.Marshal(Record[In, Out]{t.Name(), ops, ok})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
}
