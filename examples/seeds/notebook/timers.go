package main

// A callback sets a future after two seconds, while one task waits for that
// future and another one waits for the first task.

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/examples/seeds/notebook/loop"
)

func timersByHand(w io.Writer) error {
	var l loop.Loop
	over := loop.NewFuture[struct{}](&l)
	l.CallLater(2*time.Second, func() { over.Set(struct{}{}) })
	l.Go(func() error {
		fmt.Fprintln(w, "the outer task starts")
		err := l.Go(func() error {
			fmt.Fprintln(w, "the inner task starts")
			_, err := over.Wait()
			fmt.Fprintln(w, "the timer has gone off, the inner task ends")
			return err
		}).Wait()
		fmt.Fprintln(w, "the inner task has ended, the outer task ends")
		l.Stop()
		return err
	})
	return l.Run()
}

func timers(ctx context.Context, w io.Writer) error {
	over := rondo.NewFuture[struct{}](ctx)
	rondo.LoopOf(ctx).CallLater(2*time.Second, func() { over.Set(struct{}{}) })
	return rondo.Go(ctx, func(ctx context.Context) error {
		fmt.Fprintln(w, "the outer task starts")
		err := rondo.Go(ctx, func(ctx context.Context) error {
			fmt.Fprintln(w, "the inner task starts")
			_, err := over.Wait(ctx)
			fmt.Fprintln(w, "the timer has gone off, the inner task ends")
			return err
		}).Wait(ctx)
		fmt.Fprintln(w, "the inner task has ended, the outer task ends")
		return err
	}).Wait(ctx)
}
