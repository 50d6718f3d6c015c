package main

// A main task, and others beside it.

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rondo-go/rondo"
)

// run has a main task that fails, and one that returns a value to the caller of Run.
func run(w io.Writer) error {
	err := rondo.Run(context.Background(), func(context.Context) error { return errors.New("moo") })
	fmt.Fprintln(w, "the first main task:", err)

	value := 0
	err = rondo.Run(context.Background(), func(context.Context) error {
		value = 2
		return nil
	})
	fmt.Fprintln(w, "the second main task:", value)
	return err
}

// spawn starts ten tasks, which run when the main task waits for them: at the end
// of the Group.
func spawn(ctx context.Context, w io.Writer) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		fmt.Fprintln(w, "main begins")
		for i := range 10 {
			g.Go(func(context.Context) error {
				fmt.Fprintln(w, "background task", i)
				return nil
			})
		}
		fmt.Fprintln(w, "main is done")
		return nil
	})
}

// lost has a task fail for which nobody waits. Its error is reported, and the
// main task goes on.
func lost(w io.Writer) error {
	r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { fmt.Fprintln(w, "reported:", err) }}
	return r.Run(context.Background(), func(ctx context.Context) error {
		task := rondo.Go(ctx, func(context.Context) error { return errors.New("moo") })
		for !task.Done() {
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
		}
		fmt.Fprintln(w, "main goes on")
		return nil
	})
}

// join starts ten tasks too, waits for each before it starts the next, and adds up
// what they return.
func join(ctx context.Context, w io.Writer) error {
	fmt.Fprintln(w, "main begins")
	sum := 0
	for i := range 10 {
		task := rondo.Async(ctx, func(context.Context) (int, error) {
			fmt.Fprintln(w, "background task", i)
			return i, nil
		})
		n, err := task.Wait(ctx)
		if err != nil {
			return err
		}
		sum += n
	}
	fmt.Fprintln(w, "the sum is", sum)
	return nil
}
