package sim

// This file runs a body once in a world and says how that ended.

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

// An outcome is how a run ended: as it should if all is zero.
type outcome struct {
	err    error
	fault  any // what it panicked with
	exited bool
	stuck  string
}

// failure says what is wrong, or nothing. Whether a Goexit is depends on the
// test.
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

// run runs body on a goroutine of its own, so that the test can leave a loop
// that never ends.
func (w *world) run(body func(ctx context.Context)) outcome {
	var (
		main    context.Context
		unheard []error
		ended   = make(chan outcome, 1)
	)
	w.stuck = func() {
		ended <- outcome{stuck: livelock(main, body)}
		select {} // the loop stays where it is, with all that belongs to it
	}
	runner := rondo.Runner{
		Name: w.label,
		// Functions that are offloaded run one after the other, in the order in
		// which tasks asked for them.
		Threads: 1,
		OnError: func(i rondo.TaskInfo, err error) {
			unheard = append(unheard, fmt.Errorf("%s failed and nobody waited for it: %w", i.Name, err))
		},
	}
	go func() {
		o := outcome{exited: true}
		defer func() {
			if v := recover(); v != nil {
				o.fault, o.exited = v, false
			}
			ended <- o
		}()
		ctx := driver.With(context.Background(), func() (driver.Driver, error) { return w, nil })
		o.err = runner.Run(ctx, func(ctx context.Context) error {
			main = ctx
			body(ctx)
			return nil
		})
		o.err = errors.Join(append(unheard, o.err)...)
		o.exited = false
	}()
	o := w.wait(ended)
	if o.exited {
		o.err = abandoned(main)
	}
	return o
}

// hang says why a loop may not go on.
func hang() string {
	stacks := make([]byte, 64<<10)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return "hang: the loop has not gone on for a long real time: a task is blocked by something that is not Rondo's, or never waits, or goes on although it is cancelled\n\n" + string(stacks)
}

// abandoned gives the error with which the loop ended every task before the
// test could. A Goexit in one of them hides it from Run's caller: such a task is
// likely to have called t.Fatal about its cancellation.
func abandoned(main context.Context) error {
	if main == nil {
		return nil
	}
	if err := context.Cause(main); errors.Is(err, rondo.ErrDeadlock) || errors.Is(err, errPatience) {
		return err
	}
	return nil
}

// namedMax is how many tasks a report names.
const namedMax = 20

// livelock names the tasks of a loop that does not come to an end.
func livelock(main context.Context, body func(ctx context.Context)) string {
	var b strings.Builder
	fmt.Fprintf(&b, "livelock: no end after %d steps", stepsMax)
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
		fmt.Fprintf(&b, "; it had its turn %d times and runs %s", t.Switches, t.Func)
	}
	return b.String()
}
