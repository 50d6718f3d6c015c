package sim

// A History records what clients asked of the code under test, what they were answered, and in
// which order that was, for a checker such as porcupine.

import (
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/rondo-go/rondo/internal/nocopy"
	"github.com/rondo-go/rondo/sim/internal/record"
)

// Pending is the Returned of an operation that has not ended, or of which nobody knows
// whether it took effect: it may have done so at any time after it was called.
const Pending int64 = math.MaxInt64

// A History records operations of a run. The zero value is empty; it must be made
// inside the body, because it belongs to one run.
//
// The law: an operation is recorded with the numbers of the events at which it was called and at
// which it returned. All these numbers are different, even where virtual time stands still: one
// operation ended before another was called if and only if its Returned is less than the other's
// Called. So a checker never takes two operations for concurrent that were not.
type History[In, Out any] struct {
	_   nocopy.Field
	ops []*Op[In, Out]
}

// An Op is one operation of a History.
type Op[In, Out any] struct {
	In       In
	Out      Out    // meaningless while Returned is Pending
	Client   uint64 // the task that called it: a number that no other task of the run has
	Called   int64
	Returned int64 // Pending if there is no answer

	run     *attempt
	who     uint64 // that task, in the picture
	ended   bool   // by End, Unknown or Discard
	dropped bool
}

// Begin records that the operation in is about to be called. It never suspends. It
// panics if ctx does not come from a simulation, or if the History has operations of
// another run.
func (h *History[In, Out]) Begin(ctx context.Context, in In) *Op[In, Out] {
	a := mustAttempt(ctx, "History.Begin")
	if len(h.ops) > 0 && h.ops[0].run != a {
		panic("sim: History.Begin of a History that has operations of another run: make it inside the body")
	}
	o := &Op[In, Out]{In: in, Client: clientNumber(ctx), Called: a.stamp(), Returned: Pending, run: a, who: taskNumber(ctx)}
	h.ops = append(h.ops, o)
	if a.Trace.Shows() {
		a.Trace.Show(record.Event{Now: a.Clock(), Who: o.who, Kind: record.Asked}, in)
	}
	return o
}

// clientNumber returns a number of the task of ctx that no other task of the run has, not even in
// another boot of its host.
func clientNumber(ctx context.Context) uint64 {
	who := taskNumber(ctx)
	if p := processOf(ctx); p != nil {
		who |= p.boots << 48
	}
	return who
}

func (a *attempt) stamp() int64 {
	a.stamps++
	return a.stamps
}

// End records that the operation has returned out.
func (o *Op[In, Out]) End(out Out) {
	o.end("End")
	o.Out, o.Returned = out, o.run.stamp()
	o.answered(out)
}

// Unknown records that the operation has ended without an answer, as by a time-out: it may have
// taken effect, or do so later. An operation for which neither End nor Unknown is called counts
// in the same way.
func (o *Op[In, Out]) Unknown() {
	o.end("Unknown")
	o.answered(unknown)
}

// Discard takes the operation out of the history. Only an operation that certainly had
// no effect, and never will, may be discarded: a time-out is no such certainty.
func (o *Op[In, Out]) Discard() {
	o.end("Discard")
	o.dropped = true
}

// unknown is the answer in a picture of an operation that has none.
const unknown = "no answer"

// answered draws the end of the operation.
func (o *Op[In, Out]) answered(out any) {
	if a := o.run; a.Trace.Shows() {
		a.Trace.Show(record.Event{Now: a.Clock(), Who: o.who, What: fmt.Sprintf("%+v", o.In), Kind: record.Answered}, out)
	}
}

func (o *Op[In, Out]) end(call string) {
	if o.ended {
		panic("sim: Op." + call + " of an operation that has ended: call one of End, Unknown and Discard, once")
	}
	o.ended = true
}

// All ranges over the operations in the order in which they were called.
func (h *History[In, Out]) All() iter.Seq[*Op[In, Out]] {
	return func(yield func(*Op[In, Out]) bool) {
		for _, o := range h.ops {
			if !o.dropped && !yield(o) {
				return
			}
		}
	}
}

// Len returns how many operations there are.
func (h *History[In, Out]) Len() int {
	n := 0
	for range h.All() {
		n++
	}
	return n
}
