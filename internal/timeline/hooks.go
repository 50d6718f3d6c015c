package timeline

import (
	"context"
	"fmt"
	"os"
	"runtime/trace"
	"strings"
	"time"
)

// A Task is what is drawn of a task.
type Task interface {
	ID() uint64
	Parent() uint64              // the number of the task that started it, or 0
	Labels() (line, step string) // the name of its line, and what its steps are called there
	Function() string            // the function that it runs, without its package's path
}

// Hooks are called when something happens to the tasks of a loop, as those of a
// rondo.Tracer are.
type Hooks struct {
	Started func(t Task, at time.Time)
	Stepped func(t Task, at time.Time)
	Parked  func(t Task, why string, at time.Time)
	Woken   func(t Task, by uint64, at time.Time) // by is the number of a task, or 0
	Ended   func(t Task, err error, at time.Time)
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

// Hooks returns hooks that write into the timeline.
func (l *Loop) Hooks() Hooks {
	return Hooks{
		Started: func(t Task, at time.Time) {
			thread, slice := t.Labels()
			l.Started(t.ID(), thread, slice, t.Parent(), at)
		},
		Stepped: func(t Task, at time.Time) {
			thread, slice := t.Labels()
			l.Stepped(t.ID(), thread, slice, at)
		},
		Parked: func(t Task, why string, at time.Time) { l.Parked(t.ID(), why, at) },
		Woken:  func(t Task, by uint64, at time.Time) { l.Woken(t.ID(), by, at) },
		Ended: func(t Task, err error, at time.Time) {
			failure := ""
			if err != nil {
				failure, _, _ = strings.Cut(err.Error(), "\n")
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
// name, and what it waits for, are logged to it, and one region, on its goroutine, lasts from its
// first step to its end. A region for each step would not do: regions nest by
// goroutine, and a step may end while one is open that the task itself began.
func ExecutionTrace() Hooks {
	live := make(map[uint64]*traced)
	return Hooks{
		Started: func(t Task, _ time.Time) {
			if !trace.IsEnabled() {
				return
			}
			above := context.Background()
			if parent := live[t.Parent()]; parent != nil {
				above = parent.ctx
			}
			x := new(traced)
			x.ctx, x.task = trace.NewTask(above, t.Function())
			live[t.ID()] = x
		},
		Stepped: func(t Task, _ time.Time) {
			if x := live[t.ID()]; x != nil && x.region == nil {
				name, _ := t.Labels()
				trace.Log(x.ctx, "task", strings.TrimSuffix(name, " "+t.Function()))
				x.region = trace.StartRegion(x.ctx, t.Function())
			}
		},
		Parked: func(t Task, why string, _ time.Time) {
			if x := live[t.ID()]; x != nil {
				trace.Log(x.ctx, "waits for", why)
			}
		},
		Ended: func(t Task, _ error, _ time.Time) {
			x := live[t.ID()]
			if x == nil {
				return
			}
			delete(live, t.ID())
			if x.region != nil {
				x.region.End()
			}
			x.task.End()
		},
	}
}
