package sim

// A tracer records the steps of the tasks of a loop.

import (
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim/internal/offload"
	"github.com/rondo-go/rondo/sim/internal/order"
	"github.com/rondo-go/rondo/sim/internal/record"
)

// tracer records what the tasks of a loop do, which has the order o, and back for what it
// has offloaded. host is 0 for the loop of Test. Names are not compared, because a program
// may number its tasks through all runs.
func (a *attempt) tracer(o *order.Order, back *offload.Loop, host uint64) *rondo.Tracer {
	t := a.Trace
	if t == nil && !o.Follows() {
		return nil
	}
	number := func(task *rondo.Task) uint64 {
		if task == nil {
			return 0
		}
		return host<<32 | task.ID()
	}
	add := func(e record.Event, k record.Kind, task *rondo.Task) {
		e.Now, e.Who, e.Task, e.Kind = a.Clock(), number(task), task, k
		t.Add(e)
	}
	return &rondo.Tracer{
		Started: func(task *rondo.Task, _ time.Time) {
			if o.Follows() {
				o.Started(task.ID(), task.Info().Parent)
			}
			a.Account.Started(number(task), task)
			e := record.Event{}
			if t.Shows() {
				e.By = host<<32 | task.Info().Parent
			}
			add(e, record.Started, task)
		},
		Stepped: func(task *rondo.Task, _ time.Time) {
			if o.Follows() {
				o.Stepped(task.ID())
			}
			add(record.Event{}, record.Stepped, task)
		},
		Parked: func(task *rondo.Task, why rondo.Reason, _ time.Time) {
			add(record.Event{What: why.What, Stack: t.StackHere()}, record.Parked, task)
			if a.bubbles == nil {
				t.Waits(why.What, back.Outstanding())
			}
		},
		Woken: func(task, by *rondo.Task, _ time.Time) { add(record.Event{By: number(by)}, record.Woken, task) },
		Ended: func(task *rondo.Task, err error, _ time.Time) {
			e := record.Event{}
			if err != nil {
				e.N = 1
			}
			add(e, record.Ended, task)
			if _, panicked := err.(*rondo.PanicError); panicked {
				a.Account.Fails(number(task))
			}
		},
		Called: func(_, _ time.Time) { t.Add(record.Event{Now: a.Clock(), Who: host << 32, Kind: record.Called}) },
	}
}
