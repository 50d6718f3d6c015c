package main

// Sequences are asked for one value each and then forgotten. From
// its first value on a Pull is known to the scope of its ctx, which ends it when it
// ends itself, and when nobody can ask any more the garbage collector has it ended.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/rondo-go/rondo"
)

// forgotten leaves a Pull to the end of the loop, after a main task that succeeds
// and after one that fails.
func forgotten(ctx context.Context, w io.Writer) error {
	for _, end := range []error{nil, errors.New("main fails")} {
		err := rondo.Go(ctx, func(ctx context.Context) error {
			next, _ := rondo.Pull(ctx, numbers(ctx, w, "the sequence"))
			n, more := next()
			fmt.Fprintln(w, n, more)
			fmt.Fprintln(w, "the task returns:", end)
			return end
		}).Wait(ctx)
		fmt.Fprintln(w, "the task has ended:", err)
	}
	next, _ := rondo.Pull(ctx, numbers(ctx, w, "the main task's"))
	n, more := next()
	fmt.Fprintln(w, n, more)
	fmt.Fprintln(w, "main returns")
	return nil
}

// together leaves three of them to the end of a scope. They are ended all at once,
// so that it takes as long as one does.
func together(ctx context.Context, w io.Writer) error {
	start := rondo.Now(ctx)
	err := rondo.Group(ctx, func(g *rondo.Scope) error {
		for _, name := range []string{"a", "b", "c"} {
			next, _ := rondo.Pull(g, numbers(g, w, name))
			next()
		}
		fmt.Fprintln(w, "the group's body returns")
		return nil
	})
	fmt.Fprintln(w, "the group is left after", rondo.Now(ctx).Sub(start).Round(cleanUp))
	return err
}

// first shows what the loop knows: nothing of a Pull that nobody has asked yet,
// and of the others until they have ended.
func first(ctx context.Context, w io.Writer) error {
	known := func(when string) { fmt.Fprintf(w, "%s: %d\n", when, len(rondo.Tasks(ctx))-1) }
	known("at first")
	asked, stop := rondo.Pull(ctx, numbers(ctx, w, "the sequence"))
	_, stopUnasked := rondo.Pull(ctx, numbers(ctx, w, "never begun"))
	known("made")
	asked()
	known("asked once")
	for more := true; more; {
		_, more = asked()
	}
	if err := rondo.Yield(ctx); err != nil {
		return err
	}
	known("exhausted")
	stop()
	stopUnasked()
	return nil
}

// stopped ends a Pull by hand, which waits for its clean-up.
func stopped(ctx context.Context, w io.Writer) error {
	next, stop := rondo.Pull(ctx, numbers(ctx, w, "the sequence"))
	n, more := next()
	fmt.Fprintln(w, n, more)
	stop()
	fmt.Fprintln(w, "main is behind stop")
	n, more = next()
	fmt.Fprintln(w, n, more)
	return nil
}

// collected drops all that could ask a Pull for a value, and waits until the
// garbage collector has noticed. The clean-up runs on the loop.
func collected(w io.Writer) error {
	return rondo.Run(context.Background(), func(ctx context.Context) error {
		var cleaned rondo.Event
		func() {
			next, _ := rondo.Pull(ctx, func(yield func(int) bool) {
				defer cleaned.Set()
				defer func() { fmt.Fprintln(w, "clean-up in a task:", rondo.Current(ctx) != nil) }()
				for yield(1) {
				}
			})
			n, more := next()
			fmt.Fprintln(w, n, more)
		}()
		fmt.Fprintln(w, "nobody can ask any more")
		for !cleaned.IsSet() {
			runtime.GC()
			if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
				return err
			}
		}
		fmt.Fprintln(w, "main goes on")
		return nil
	})
}
