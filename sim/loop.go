package sim

// A body runs once, on a loop of its own in a world, and the test gets its outcome even if the
// loop never ends.

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/sim/internal/search"
)

// execute runs body on a goroutine of its own, so that the test can leave a loop
// that never ends.
func (w *loopWorld) execute(body func(ctx context.Context)) search.Outcome {
	var (
		main       context.Context
		unobserved []error
		ended      = make(chan search.Outcome, 1)
	)
	w.stuck = func() {
		ended <- search.Outcome{Stuck: w.livelock(main, body)}
		select {} // the loop stays where it is, with all that belongs to it
	}
	runner := rondo.Runner{
		Name:   w.run.Label,
		Tracer: w.run.tracer(w.order, &w.offloads, 0),
		OnError: func(i rondo.TaskInfo, err error) {
			unobserved = append(unobserved, fmt.Errorf("%s failed and nobody waited for it: %w", i.Name, err))
		},
	}
	loop := func(o *search.Outcome) {
		ctx := driver.With(context.Background(), func() (driver.Driver, error) { return w, nil })
		o.Err = runner.Run(ctx, func(ctx context.Context) error {
			main, w.main, w.loop = ctx, ctx, kernel.Of(ctx)
			w.inside.Store(&w.loop)
			body(ctx)
			return nil
		})
		o.Err = errors.Join(append(unobserved, o.Err)...)
		o.Exited = false
	}
	go func() {
		o := search.Outcome{Exited: true}
		defer func() {
			if v := recover(); v != nil {
				o.Fault, o.Exited = v, false
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
					o.Fault, o.Exited = v, false
				}
			}()
			w.enter()
			loop(&o)
		})
	}()
	o := w.wait(ended, &w.inside)
	if o.Running {
		return o
	}
	w.order.End()
	switch {
	case o.Stuck != "":
		return o
	case w.run.Stopped:
		return search.Outcome{Exited: o.Exited, Err: abandoned(main)}
	case o.Exited:
		o.Err = abandoned(main)
	}
	w.run.Fails(w.ran, func() string { return w.run.nameOf(nil, 0, w.ran) })
	return o
}

// abandoned returns the error with which the loop cancelled all tasks, or nil. A
// Goexit in a task hides that error from Run's caller. The usual cause of that
// Goexit is a t.Fatal that reports the cancellation.
func abandoned(main context.Context) error {
	if main == nil {
		return nil
	}
	if err := context.Cause(main); errtree.Is(err, rondo.ErrDeadlock) || errtree.Is(err, errNothingCame) {
		return err
	}
	return nil
}

// namedMax is how many tasks a report names.
const namedMax = 20

// livelock names the tasks of a loop that does not end.
func (w *loopWorld) livelock(main context.Context, body func(ctx context.Context)) string {
	var b strings.Builder
	fmt.Fprintf(&b, "livelock: no end after %d steps", w.run.MaxSteps)
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
