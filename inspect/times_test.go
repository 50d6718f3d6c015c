package inspect_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo/inspect"
	"github.com/rondo-go/rondo/internal/flight"
)

// TestReady: since when a task was ready follows from the run queue at the marks: it was in the
// queue at the first mark at which there were as many entries as were taken up to its own.
func TestReady(t *testing.T) {
	r := flight.New()
	r.Mark(100, 0, 3, flight.Asleep) // three tasks are woken by what has come in
	r.Step(1, 0)
	r.Mark(1100, 1, 3, 1) // one more, by what has come in meanwhile
	r.Step(2, 0)
	r.Mark(2100, 2, 3, 2) // task 2 has woken 5, or what has come in
	r.Step(3, 0)
	r.Step(4, 0)
	r.Mark(4100, 4, 1, 4)
	r.Step(5, 2)
	r.Step(6, 5) // by the one before, past the queue
	r.Mark(5100, 6, 0, 6)
	r.Mark(5100, 6, 0, 6) // no time has passed
	r.Step(7, 0)
	r.Step(8, 0) // by what has come in since
	type step struct {
		task        uint64
		from, ready time.Duration
	}
	want := []step{{1, 100, 0}, {2, 1100, 1000}, {3, 2100, 2000}, {4, 3100, 2000}, {5, 4100, 2500}, {6, 4600, 250}, {7, 5100, 0}, {8, 6100, 500}}
	var got []step
	for _, s := range inspect.FlightSteps(r, flight.Mark{At: 7100, Ran: 8, Taken: 8, Task: 8}) {
		got = append(got, step{task: s.Task, from: s.From, ready: s.Ready})
	}
	if len(got) != len(want) {
		t.Fatalf("the steps are %v", got)
	}
	for i, s := range got {
		if s != want[i] {
			t.Errorf("step %d: %+v, want %+v", i, s, want[i])
		}
	}
}

// TestReadyByOneThatGoesOn: a task that was woken by one that went on after a mark, at which it was
// not in the queue yet, was so after that mark and before the next.
func TestReadyByOneThatGoesOn(t *testing.T) {
	r := flight.New()
	r.Mark(100, 0, 1, flight.Asleep)
	r.Step(1, 0)
	r.Mark(1100, 1, 0, 1)
	r.Mark(2100, 1, 1, 1) // task 1 has gone on, and woken 2
	r.Step(2, 1)
	steps := inspect.FlightSteps(r, flight.Mark{At: 3100, Ran: 2, Taken: 2, Task: 2})
	if n := len(steps); n == 0 || steps[n-1].Task != 2 || steps[n-1].From != 2100 || steps[n-1].Ready != 500 {
		t.Errorf("the steps are %+v", steps)
	}
}

// TestTrace: a flight as a timeline. A loop is a process, a task a thread, a step a slice; an arrow
// begins just before the end of the step that woke another.
func TestTrace(t *testing.T) {
	us := time.Microsecond
	f := inspect.Flight{Loops: []inspect.FlightLoop{
		{ID: 7, Name: "one", Steps: []inspect.FlightStep{
			{Task: 1, Name: "a #1", From: 1000 * us, To: 1010 * us, Woken: true, By: 9}, // 9 ran before
			{Task: 2, Name: "b #2", From: 1010 * us, To: 1030 * us, Woken: true, By: 1},
			{Task: 2, Name: "b #2", From: 1030 * us, To: 1040 * us, By: 1}, // it went on
			{Task: 1, Name: "a #1", From: 1040 * us, To: 1050 * us, Woken: true},
		}},
		{ID: 8, Name: "two", Steps: []inspect.FlightStep{{Task: 1, Name: "c #1", From: 990 * us, To: 991 * us, Woken: true, By: 2}}},
		{ID: 9, Name: "none", Lost: "it has ended"},
	}}
	const want = `[
{"ph":"M","pid":7,"tid":0,"ts":0,"name":"process_name","args":{"name":"one"}},
{"ph":"M","pid":7,"tid":1,"ts":0,"name":"thread_name","args":{"name":"a #1"}},
{"ph":"X","pid":7,"tid":1,"ts":10,"dur":10,"name":"a #1"},
{"ph":"M","pid":7,"tid":2,"ts":0,"name":"thread_name","args":{"name":"b #2"}},
{"ph":"X","pid":7,"tid":2,"ts":20,"dur":20,"name":"b #2"},
{"ph":"s","pid":7,"tid":1,"ts":19.999,"name":"wakes","cat":"wake","id":1},
{"ph":"f","pid":7,"tid":2,"ts":20,"name":"wakes","cat":"wake","id":1,"bp":"e"},
{"ph":"X","pid":7,"tid":2,"ts":40,"dur":10,"name":"b #2"},
{"ph":"X","pid":7,"tid":1,"ts":50,"dur":10,"name":"a #1"},
{"ph":"M","pid":8,"tid":0,"ts":0,"name":"process_name","args":{"name":"two"}},
{"ph":"M","pid":8,"tid":1,"ts":0,"name":"thread_name","args":{"name":"c #1"}},
{"ph":"X","pid":8,"tid":1,"ts":0,"dur":1,"name":"c #1"},
{"ph":"M","pid":9,"tid":0,"ts":0,"name":"process_name","args":{"name":"none"}}
]
`
	var b strings.Builder
	if err := f.WriteTrace(&b); err != nil || b.String() != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, b.String(), want)
	}
}

// TestTimes: each step counts once in the total and once in its kind, and the longest time in
// which a task was ready says who ran.
func TestTimes(t *testing.T) {
	us := time.Microsecond
	l := inspect.FlightLoop{Steps: []inspect.FlightStep{
		{Task: 1, Name: "a #1", Kind: "a", From: 0, To: 10 * us, Woken: true},
		{Task: 2, Name: "b #2", Kind: "b", From: 10 * us, To: 900 * us, Woken: true, Ready: 5 * us},
		{Task: 3, Name: "a #3", Kind: "a", From: 900 * us, To: 910 * us},
		{Task: 1, Name: "a #1", Kind: "a", From: 910 * us, To: 911 * us, Woken: true, Ready: 903 * us},
		{Task: 4, Name: "c #4", Kind: "c", From: 911 * us, To: 912 * us, Woken: true, Ready: 1 * us}, // since the step before it began
	}}
	if steps, tasks := l.Count(); steps != 5 || tasks != 4 {
		t.Errorf("%d steps of %d tasks, want 5 of 4", steps, tasks)
	}
	times := l.Times()
	if len(times) != 4 || times[0].Kind != "" || times[1].Kind != "b" || times[2].Kind != "a" || times[3].Kind != "c" {
		t.Fatalf("the times are of %+v", times)
	}
	all, a := times[0], times[2]
	if all.Steps.Count != 5 || all.Steps.Sum != 912*us || all.Steps.Max != 890*us || all.Ready.Count != 4 || a.Steps.Count != 3 || a.Ready.Count != 2 {
		t.Errorf("all %+v, a %+v", all, a)
	}
	if want := (inspect.ReadyWait{Task: "a #1", For: 903 * us, Ahead: 3, Longest: "b #2", LongestFor: 890 * us}); *a.Worst != want || *all.Worst != want {
		t.Errorf("the longest is %+v, want %+v", *a.Worst, want)
	}
	if c, want := times[3], (inspect.ReadyWait{Task: "c #4", For: us, Ahead: 1, Longest: "a #1", LongestFor: us}); *c.Worst != want {
		t.Errorf("the longest is %+v, want %+v", *c.Worst, want)
	}
}

// TestHistogram: what is read from it is the time or up to a quarter more, and never above the
// most.
func TestHistogram(t *testing.T) {
	for d := time.Duration(1); d < 20*time.Hour; d += 1 + d/7 {
		var l inspect.FlightLoop
		l.Steps = []inspect.FlightStep{{To: d}, {To: 30 * time.Hour}}
		h := l.Times()[0].Steps
		if q := h.Quantile(0.5); q < d || q > max(d+d/4, 128) {
			t.Fatalf("%v is read as %v", d, q)
		}
		if h.Quantile(1) != 30*time.Hour || h.Quantile(0.99) != 30*time.Hour {
			t.Fatalf("the most is %v", h.Quantile(1))
		}
	}
}
