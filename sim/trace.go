package sim

// This file has the trace of a run: what was chosen, what ran, and when. Two runs
// that did the same have the same trace.

import (
	"fmt"
	"time"

	"github.com/rondo-go/rondo"
)

// A kind is what happened in an event.
type kind uint8

const (
	jumped  kind = iota // the clock
	chosen              // a task or a callback, among n
	started             // a task
	stepped             // a task runs from here on
	parked              // a task waits, for what
	woken               // a task's wait has ended
	ended               // a task, n is 1 if with an error
	called              // a callback has run
	passed              // a task was ready but does not run now
	drew                // a task chose n with Choose
	hosted              // a host boots, exits, crashes
	sent                // a message of n bytes, by a host to another
	arrived             // a message
	struck              // a fault of the network
)

// An event is one thing that happened in a run.
type event struct {
	now  int64
	who  uint64 // the number of the task; 0 for a callback
	what string
	n    int32
	kind kind

	// What is not compared.
	task  *rondo.Task // for its name; nil: it is not known
	by    uint64      // the task that ended a wait, or 0
	data  string      // the bytes of a message, if a picture is to be drawn
	stack *[]uintptr  // of a task that waits, if a picture is to be drawn
}

// same reports whether the same happened.
func (e *event) same(f *event) bool {
	return e.now == f.now && e.who == f.who && e.what == f.what && e.n == f.n && e.kind == f.kind
}

func (e event) String() string {
	at := time.Duration(e.now - origin)
	who := "a callback"
	if e.who != 0 {
		who = fmt.Sprintf("task-%d", e.who)
	}
	if e.task != nil && e.task.Name() != who {
		who += ", " + e.task.Name() + ","
	}
	switch e.kind {
	case jumped:
		return fmt.Sprintf("the clock jumped to %v", at)
	case chosen:
		return fmt.Sprintf("%s ran as one of %d after %v", who, e.n, at)
	case passed:
		return fmt.Sprintf("%s was ready but did not run after %v", who, at)
	case started:
		return fmt.Sprintf("%s was started after %v", who, at)
	case hosted, sent, arrived, struck:
		return fmt.Sprintf("%s (%d) of host %d to %d after %v", e.what, e.n, e.who>>32, e.who&0xffffffff, at)
	case drew:
		return fmt.Sprintf("Choose returned %d to %s after %v", e.n, who, at)
	case parked:
		return fmt.Sprintf("%s waited for %s after %v", who, e.what, at)
	case woken:
		return fmt.Sprintf("the wait of %s ended after %v", who, at)
	case ended:
		if e.n != 0 {
			return fmt.Sprintf("%s ended with an error after %v", who, at)
		}
		return fmt.Sprintf("%s ended after %v", who, at)
	}
	return fmt.Sprintf("%s ran after %v", who, at)
}

// maxKept is how many events a trace keeps. Later ones are only in its hash.
const maxKept = 1 << 18

// A trace sums up a run. One with keep set remembers the events; one that
// follows another finds the first event that differs.
type trace struct {
	hash    uint64
	count   int
	keep    bool
	draws   bool // the events are for a picture: stacks are kept
	events  []event
	follows *trace
	differs string

	outside int  // how many goroutines may come back in any order; see waits
	chance  bool // the run is not to be compared
}

func (t *trace) add(e event) {
	if t == nil || t.outside > 1 && !t.draws {
		return
	}
	t.hash = mix(mix(t.hash^uint64(e.now))^e.who) ^ uint64(e.n)<<8 ^ uint64(e.kind)
	for i := range len(e.what) {
		t.hash = (t.hash ^ uint64(e.what[i])) * 0x9e3779b97f4a7c15 // mixed by the next event
	}
	if t.keep && t.count < maxKept {
		t.events = append(t.events, e)
	}
	if t.follows != nil && t.differs == "" && t.count < maxKept {
		t.compare(&e)
	}
	t.count++
}

// waits is called when a task of the loop that has back waits for what. A goroutine that
// receives for a task may be outstanding although its task waits no longer, and which of it and
// another one comes back first is chance; and while a busy loop takes what is back, so is the
// turn. So nothing more is recorded from the second wait for a channel on, or from the first one
// if something is offloaded then, or just back.
func (t *trace) waits(what string, offloads *offloads, back *early) {
	if what == "channel" {
		t.outside += 1 + len(offloads.waiting) + len(offloads.running) + back.open
	} else if what == "offload" && t.outside > 0 {
		t.outside++
	}
}

// compare notes whether the next event differs from that of the run that t follows.
func (t *trace) compare(e *event) {
	events := t.follows.events
	if t.count >= len(events) {
		t.differs = fmt.Sprintf("at event %d in the first run the end had come, but in the second %v", t.count+1, *e)
	} else if first := &events[t.count]; !first.same(e) {
		t.differs = fmt.Sprintf("at event %d in the first run %v, but in the second %v", t.count+1, *first, *e)
	}
}

// choose adds that a task was chosen among n, or passed over.
//
// It is a function of its own because an event is large: what chooses runs on the stacks of
// tasks, which begin small, and most runs have no trace.
//
//go:noinline
func (t *trace) choose(now int64, k kind, who uint64, n int) {
	t.add(event{now: now, who: who, n: int32(n), kind: k})
}

// difference says where t differs from the trace that it follows, or nothing.
func (t *trace) difference() string {
	f := t.follows
	switch {
	case t.chance || f.chance:
		return ""
	case t.differs != "":
		return t.differs
	case t.count < min(f.count, maxKept):
		return fmt.Sprintf("at event %d in the first run %v, but in the second the end had come", t.count+1, f.events[t.count])
	case t.hash != f.hash:
		return fmt.Sprintf("the runs differ somewhere after event %d", maxKept)
	}
	return ""
}

// explain adds what a click on the last event in a picture shows.
func (t *trace) explain(data []byte) {
	const most = 200
	if t == nil || !t.draws || len(t.events) == 0 {
		return
	}
	text := fmt.Sprintf("%q", data[:min(len(data), most)])
	if len(data) > most {
		text += fmt.Sprintf(" and %d more bytes", len(data)-most)
	}
	t.events[len(t.events)-1].data = text
}

// tracer records what the tasks of a loop do, which has the order o, and back for what it
// has offloaded. host is 0 for the loop of Test. Names are not compared, because a program
// may number its tasks through all runs.
func (a *attempt) tracer(o *order, back *early, host uint64) *rondo.Tracer {
	t := a.trace
	if t == nil && o.tasks == nil {
		return nil
	}
	number := func(task *rondo.Task) uint64 {
		if task == nil {
			return 0
		}
		return host<<32 | task.ID()
	}
	add := func(e event, k kind, task *rondo.Task) {
		e.now, e.who, e.task, e.kind = a.clock(), number(task), task, k
		t.add(e)
	}
	return &rondo.Tracer{
		Started: func(task *rondo.Task, _ time.Time) {
			if o.tasks != nil {
				o.started(task.ID(), task.Info().Parent)
			}
			if account := a.choices.account; account != nil {
				account.tasks[number(task)] = task
			}
			add(event{}, started, task)
		},
		Stepped: func(task *rondo.Task, _ time.Time) {
			if o.tasks != nil {
				o.stepped(task.ID())
			}
			add(event{}, stepped, task)
		},
		Parked: func(task *rondo.Task, why rondo.Reason, _ time.Time) {
			e := event{what: why.What}
			if t != nil && t.draws {
				e.stack = callers()
			}
			add(e, parked, task)
			if t != nil && a.bubbles == nil {
				t.waits(why.What, a.offloads, back)
			}
		},
		Woken: func(task, by *rondo.Task, _ time.Time) { add(event{by: number(by)}, woken, task) },
		Ended: func(task *rondo.Task, err error, _ time.Time) {
			e := event{}
			if err != nil {
				e.n = 1
			}
			add(e, ended, task)
		},
		Called: func(_, _ time.Time) { t.add(event{now: a.clock(), who: host << 32, kind: called}) },
	}
}
