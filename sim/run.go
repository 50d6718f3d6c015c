package sim

// This file runs a body once in a world and reports how that ended.

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
)

// An outcome is how a run ended. The zero outcome is a run without a fault.
type outcome struct {
	err    error
	fault  any // what it panicked with
	exited bool
	stuck  string

	// running says that the loop still runs, on a goroutine that cannot be stopped, so
	// that nothing of it may be read.
	running bool
}

// failure says what is wrong, or "". Whether a Goexit is wrong depends on the test,
// so it is not in here.
func (o *outcome) failure() string {
	switch {
	case o.stuck != "":
		return o.stuck
	case o.fault != nil:
		return fmt.Sprint(o.fault)
	case o.err != nil:
		return o.err.Error()
	}
	return ""
}

// deadlocked reports whether the loop was in deadlock.
func (o *outcome) deadlocked() bool { return errors.Is(o.err, rondo.ErrDeadlock) }

// execute runs body on a goroutine of its own, so that the test can leave a loop
// that never ends.
func (w *world) execute(body func(ctx context.Context)) outcome {
	var (
		main       context.Context
		unobserved []error
		ended      = make(chan outcome, 1)
	)
	w.stuck = func() {
		ended <- outcome{stuck: w.livelock(main, body)}
		select {} // the loop stays where it is, with all that belongs to it
	}
	runner := rondo.Runner{
		Name:   w.run.label,
		Tracer: w.run.tracer(w.order, &w.early, 0),
		OnError: func(i rondo.TaskInfo, err error) {
			unobserved = append(unobserved, fmt.Errorf("%s failed and nobody waited for it: %w", i.Name, err))
		},
	}
	loop := func(o *outcome) {
		ctx := driver.With(context.Background(), func() (driver.Driver, error) { return w, nil })
		o.err = runner.Run(ctx, func(ctx context.Context) error {
			main, w.loop = ctx, kernel.Of(ctx)
			body(ctx)
			return nil
		})
		o.err = errors.Join(append(unobserved, o.err)...)
		o.exited = false
	}
	go func() {
		o := outcome{exited: true}
		defer func() {
			if v := recover(); v != nil {
				o.fault, o.exited = v, false
			}
			ended <- o
		}()
		if w.run.bubbles == nil {
			loop(&o)
			return
		}
		inBubble(w.run.bubbles, func() {
			defer func() { // not for the bubble, which would end the process
				if v := recover(); v != nil {
					o.fault, o.exited = v, false
				}
			}()
			w.enter()
			loop(&o)
		})
	}()
	o := w.wait(ended)
	if o.running {
		return o
	}
	w.order.end()
	if o.exited {
		o.err = abandoned(main)
	}
	return o
}

// hang says why a loop may make no progress.
func hang() string {
	stacks := make([]byte, 64<<10)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return "hang: the loop has made no progress for a long real time: a task is blocked outside Rondo, or it never waits, or it continues although it is cancelled\n\n" + string(stacks)
}

// abandoned returns the error with which the loop cancelled all tasks, or nil. A
// Goexit in a task hides that error from Run's caller. The usual cause of that
// Goexit is a t.Fatal that reports the cancellation.
func abandoned(main context.Context) error {
	if main == nil {
		return nil
	}
	if err := context.Cause(main); errors.Is(err, rondo.ErrDeadlock) || errors.Is(err, errNothingCame) {
		return err
	}
	return nil
}

// namedMax is how many tasks a report names.
const namedMax = 20

// livelock names the tasks of a loop that does not end.
func (w *world) livelock(main context.Context, body func(ctx context.Context)) string {
	var b strings.Builder
	fmt.Fprintf(&b, "livelock: no end after %d steps", w.run.maxSteps)
	if l := kernel.Of(main); l == nil || !l.Inside() {
		return b.String()
	}
	tasks := rondo.Tasks(main)
	for i, t := range tasks {
		if i == namedMax {
			fmt.Fprintf(&b, "\n\tand %d more tasks", len(tasks)-i)
			break
		}
		if t.Parent == 0 {
			t.Func = runtime.FuncForPC(reflect.ValueOf(body).Pointer()).Name()
		}
		fmt.Fprintf(&b, "\n\t%s is %s", t.Name, t.State)
		if t.Waiting != "" {
			fmt.Fprintf(&b, " for %s since %v", t.Waiting, t.Since)
		}
		fmt.Fprintf(&b, "; it ran %d times and runs %s", t.Switches, t.Func)
	}
	return b.String()
}
