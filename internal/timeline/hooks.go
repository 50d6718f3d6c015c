package timeline

import (
	"context"
	"fmt"
	"os"
	"runtime/trace"
	"strings"
	"time"

	"github.com/rondo-go/rondo/internal/report"
)

// A Task is something with a number.
type Task interface {
	comparable
	ID() uint64
}

// A Description is what is drawn of a task.
type Description struct {
	Parent   uint64 // the number of the task that started it, or 0
	Name     string // also if it was given none
	Named    bool   // it was given one
	Function string // the function that it runs
}

// labels returns the name of the task's line, and what its steps are called there.
func (d Description) labels() (line, step string) {
	if d.Named {
		return d.Name, d.Name
	}
	return d.Name + " " + d.function(), d.function()
}

// function returns the function without its package's path.
func (d Description) function() string { return d.Function[strings.LastIndexByte(d.Function, '/')+1:] }

// Hooks are called when something happens to the tasks of a loop, as those of a
// rondo.Tracer are. T is the type of the tasks.
type Hooks[T any] struct {
	Started func(t T, at time.Time)
	Stepped func(t T, at time.Time)
	Parked  func(t T, why string, at time.Time)
	Woken   func(t, by T, at time.Time)
	Ended   func(t T, err error, at time.Time)
	Called  func(from, to time.Time)
}

// FromEnv opens the file that RONDO_TRACE in the environment names. It returns nil if
// it names none.
func FromEnv() (*Loop, error) {
	path := os.Getenv("RONDO_TRACE")
	if path == "" {
		return nil, nil
	}
	line, err := Open(path)
	if err != nil {
		return nil, fmt.Errorf("the timeline that RONDO_TRACE asks for cannot be written: %w", err)
	}
	return line, nil
}

// Drawing returns hooks that write into the timeline.
func Drawing[T Task](l *Loop, describe func(t T) Description) Hooks[T] {
	return Hooks[T]{
		Started: func(t T, at time.Time) {
			d := describe(t)
			thread, slice := d.labels()
			l.Started(t.ID(), thread, slice, d.Parent, at)
		},
		Stepped: func(t T, at time.Time) {
			thread, slice := describe(t).labels()
			l.Stepped(t.ID(), thread, slice, at)
		},
		Parked: func(t T, why string, at time.Time) { l.Parked(t.ID(), why, at) },
		Woken: func(t, by T, at time.Time) {
			var none T
			id := uint64(0)
			if by != none {
				id = by.ID()
			}
			l.Woken(t.ID(), id, at)
		},
		Ended: func(t T, err error, at time.Time) {
			failure := ""
			if err != nil {
				failure, _, _ = strings.Cut(report.Text(err), "\n")
			}
			l.Ended(t.ID(), failure, at)
		},
		Called: l.Called,
	}
}

// A traced task is one that an execution trace shows.
type traced struct {
	ctx    context.Context
	task   *trace.Task
	region *trace.Region // nil before the first step
}

// ExecutionTrace returns hooks that show tasks in an execution trace of package
// runtime/trace, while one is being taken. Each task is a user-defined task there, of
// the type that its function names, so that go tool trace groups tasks by function. Its
// name, and what it waits for, are logged to it, and one region, on its goroutine, lasts
// from its first step to its end. A region for each step would not do: regions nest by
// goroutine, and a step may end while one is open that the task itself began.
func ExecutionTrace[T Task](describe func(t T) Description) Hooks[T] {
	live := make(map[uint64]*traced)
	return Hooks[T]{
		Started: func(t T, _ time.Time) {
			if !trace.IsEnabled() {
				return
			}
			d := describe(t)
			above := context.Background()
			if parent := live[d.Parent]; parent != nil {
				above = parent.ctx
			}
			x := new(traced)
			x.ctx, x.task = trace.NewTask(above, d.function())
			live[t.ID()] = x
		},
		Stepped: func(t T, _ time.Time) {
			if x := live[t.ID()]; x != nil && x.region == nil {
				d := describe(t)
				trace.Log(x.ctx, "task", d.Name)
				x.region = trace.StartRegion(x.ctx, d.function())
			}
		},
		Parked: func(t T, why string, _ time.Time) {
			if x := live[t.ID()]; x != nil {
				trace.Log(x.ctx, "waits for", why)
			}
		},
		Ended: func(t T, _ error, _ time.Time) {
			id := t.ID()
			x := live[id]
			if x == nil {
				return
			}
			delete(live, id)
			if x.region != nil {
				x.region.End()
			}
			x.task.End()
		},
	}
}
