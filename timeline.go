package rondo

// This file lets others draw what the tasks of a loop do: RONDO_TRACE=FILE in
// the environment writes a timeline of every loop of the process, and with
// Debug the tasks are shown in an execution trace of package runtime/trace.

import (
	"context"
	"fmt"
	"os"
	"runtime/trace"
	"strings"
	"time"

	"github.com/rondo-go/rondo/internal/timeline"
)

// openTimeline opens the file that the environment names, if it names one.
func openTimeline() (*timeline.Loop, error) {
	path := os.Getenv("RONDO_TRACE")
	if path == "" {
		return nil, nil
	}
	line, err := timeline.Open(path)
	if err != nil {
		return nil, fmt.Errorf("rondo: Run: the timeline that RONDO_TRACE asks for cannot be written: %w", err)
	}
	return line, nil
}

// draw returns a Tracer that writes into line.
func (l *Loop) draw(line *timeline.Loop) *Tracer {
	line.Begin(l.name, l.driver.Time(l.driver.Now()))
	return &Tracer{
		Started: func(t *Task, at time.Time) {
			thread, slice := t.labels()
			line.Started(t.id, thread, slice, t.parent, at)
		},
		Stepped: func(t *Task, at time.Time) {
			thread, slice := t.labels()
			line.Stepped(t.id, thread, slice, at)
		},
		Parked: func(t *Task, why Reason, at time.Time) { line.Parked(t.id, why.String(), at) },
		Woken: func(t, by *Task, at time.Time) {
			id := uint64(0)
			if by != nil {
				id = by.id
			}
			line.Woken(t.id, id, at)
		},
		Ended: func(t *Task, err error, at time.Time) {
			failure := ""
			if err != nil {
				failure, _, _ = strings.Cut(err.Error(), "\n")
			}
			line.Ended(t.id, failure, at)
		},
		Called: line.Called,
	}
}

// closeTimeline ends what the loop writes into line.
func (l *Loop) closeTimeline(line *timeline.Loop) {
	if err := line.Close(); err != nil {
		l.notice(TaskInfo{Name: "RONDO_TRACE", Loop: l.name}, fmt.Errorf("rondo: the timeline is not complete: %w", err))
	}
}

// labels returns what a task is called where it is drawn: the name of its line,
// and what its steps are called there.
func (t *Task) labels() (line, step string) {
	function := t.function()
	function = function[strings.LastIndexByte(function, '/')+1:]
	if t.extra != nil && t.extra.name != nil && *t.extra.name != "" {
		return *t.extra.name, *t.extra.name
	}
	return t.Name() + " " + function, function
}

// A traced task is one that an execution trace shows.
type traced struct {
	ctx    context.Context
	task   *trace.Task
	region *trace.Region // nil before the first step
}

// executionTracer returns a Tracer that shows tasks in an execution trace, while
// one is being taken. Each task is a user-defined task there, what it waits for is logged
// to it, and one region, on the worker's goroutine, lasts from its first step
// to its end. A region for each step would not do: regions nest by goroutine,
// and a step may end while one is open that the task itself began.
func executionTracer() *Tracer {
	live := make(map[uint64]*traced)
	return &Tracer{
		Started: func(t *Task, _ time.Time) {
			if !trace.IsEnabled() {
				return
			}
			above := context.Background()
			if parent := live[t.parent]; parent != nil {
				above = parent.ctx
			}
			name, _ := t.labels()
			x := new(traced)
			x.ctx, x.task = trace.NewTask(above, name)
			live[t.id] = x
		},
		Stepped: func(t *Task, _ time.Time) {
			if x := live[t.id]; x != nil && x.region == nil {
				_, step := t.labels()
				x.region = trace.StartRegion(x.ctx, step)
			}
		},
		Parked: func(t *Task, why Reason, _ time.Time) {
			if x := live[t.id]; x != nil {
				trace.Log(x.ctx, "waits for", why.String())
			}
		},
		Ended: func(t *Task, _ error, _ time.Time) {
			x := live[t.id]
			if x == nil {
				return
			}
			delete(live, t.id)
			if x.region != nil {
				x.region.End()
			}
			x.task.End()
		},
	}
}
