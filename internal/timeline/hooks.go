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

// Drawing returns hooks that write into the timeline. draw returns what is drawn of
// a task, or nil if there is no task.
func Drawing[T any](l *Loop, draw func(t T) Task) Hooks[T] {
	return Hooks[T]{
		Started: func(t T, at time.Time) {
			d := draw(t)
			thread, slice := d.Labels()
			l.Started(d.ID(), thread, slice, d.Parent(), at)
		},
		Stepped: func(t T, at time.Time) {
			d := draw(t)
			thread, slice := d.Labels()
			l.Stepped(d.ID(), thread, slice, at)
		},
		Parked: func(t T, why string, at time.Time) { l.Parked(draw(t).ID(), why, at) },
		Woken: func(t, by T, at time.Time) {
			id := uint64(0)
			if d := draw(by); d != nil {
				id = d.ID()
			}
			l.Woken(draw(t).ID(), id, at)
		},
		Ended: func(t T, err error, at time.Time) {
			failure := ""
			if err != nil {
				failure, _, _ = strings.Cut(err.Error(), "\n")
			}
			l.Ended(draw(t).ID(), failure, at)
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
// from its first step to its end. draw returns what is shown of a task. A region for each step would not do: regions nest by
// goroutine, and a step may end while one is open that the task itself began.
func ExecutionTrace[T any](draw func(t T) Task) Hooks[T] {
	live := make(map[uint64]*traced)
	return Hooks[T]{
		Started: func(t T, _ time.Time) {
			if !trace.IsEnabled() {
				return
			}
			d := draw(t)
			above := context.Background()
			if parent := live[d.Parent()]; parent != nil {
				above = parent.ctx
			}
			x := new(traced)
			x.ctx, x.task = trace.NewTask(above, d.Function())
			live[d.ID()] = x
		},
		Stepped: func(t T, _ time.Time) {
			d := draw(t)
			if x := live[d.ID()]; x != nil && x.region == nil {
				name, _ := d.Labels()
				trace.Log(x.ctx, "task", strings.TrimSuffix(name, " "+d.Function()))
				x.region = trace.StartRegion(x.ctx, d.Function())
			}
		},
		Parked: func(t T, why string, _ time.Time) {
			if x := live[draw(t).ID()]; x != nil {
				trace.Log(x.ctx, "waits for", why)
			}
		},
		Ended: func(t T, _ error, _ time.Time) {
			id := draw(t).ID()
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
