package main

// Two loops run on two goroutines. Each has tasks and a running task of its own,
// and a third goroutine sees both lists.

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/inspect"
)

var errEnough = errors.New("enough")

func loops(w io.Writer) error {
	names := []string{"red", "blue"}
	var ended [2]chan error
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	for i, name := range names {
		ready := make(chan struct{})
		ended[i] = make(chan error, 1)
		go func() { ended[i] <- runLoop(ctx, name, func() { close(ready) }) }()
		select {
		case <-ready:
		case err := <-ended[i]:
			return err
		}
	}
	if err := show(w); err != nil {
		return err
	}
	stop(errEnough)
	for i, name := range names {
		fmt.Fprintln(w, name, "has ended:", <-ended[i])
	}
	return show(w)
}

// runLoop runs a loop with three tasks until ctx is cancelled, which cancels what
// is left of them.
func runLoop(ctx context.Context, name string, ready func()) error {
	r := rondo.Runner{Name: name}
	return r.Run(ctx, func(ctx context.Context) error {
		rondo.Current(ctx).SetName("main of " + name)
		var forever rondo.Event
		wait := func(ctx context.Context) error {
			rondo.Current(ctx).SetName("child of " + name)
			return forever.Wait(ctx)
		}
		rondo.Go(ctx, wait)
		rondo.Go(ctx, wait)
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		rondo.LoopOf(ctx).CallSoon(ready) // when main waits
		return forever.Wait(ctx)
	})
}

// show prints the tasks of all loops. Any goroutine may ask for them.
func show(w io.Writer) error {
	picture, err := inspect.Snapshot()
	if err != nil {
		return err
	}
	for _, l := range picture.Loops {
		fmt.Fprintln(w, l.Name, "has", len(l.Tasks), "tasks")
		for _, t := range l.Tasks {
			fmt.Fprintf(w, "  %-13s %s for %s\n", t.Name, t.State, t.Waiting)
		}
	}
	fmt.Fprintln(w, len(picture.Loops), "loops")
	return nil
}
