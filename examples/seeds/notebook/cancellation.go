package main

// Cancellation of one of two tasks that wait for the same future, and then of the
// future. The loop of package loop cancels a wait; Rondo cancels the task, for
// which every later wait fails as well.

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/examples/seeds/notebook/loop"
)

func cancellationByHand(w io.Writer) error {
	var l loop.Loop
	never := loop.NewFuture[string](&l)
	wait := func(name string) func() error {
		return func() error {
			defer fmt.Fprintln(w, name, "has cleaned up")
			_, err := never.Wait()
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	l.Go(func() error {
		defer l.Stop()
		first, second := l.Go(wait("first")), l.Go(wait("second"))
		if err := l.Yield(); err != nil {
			return err
		}
		first.Cancel()
		err := first.Wait()
		fmt.Fprintln(w, err, errors.Is(err, context.Canceled), "and the future is done:", never.Done())
		never.Cancel()
		err = second.Wait()
		fmt.Fprintln(w, err, errors.Is(err, context.Canceled), "and the future is done:", never.Done())
		return nil
	})
	return l.Run()
}

func cancellation(ctx context.Context, w io.Writer) error {
	never := rondo.NewFuture[string](ctx)
	wait := func(name string) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			defer fmt.Fprintln(w, name, "has cleaned up")
			_, err := never.Wait(ctx)
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	first, second := rondo.Go(ctx, wait("first")), rondo.Go(ctx, wait("second"))
	if err := rondo.Yield(ctx); err != nil {
		return err
	}
	first.Cancel(nil)
	err := first.Wait(ctx)
	fmt.Fprintln(w, err, errors.Is(err, context.Canceled), "and the future is done:", never.Done())
	never.Fail(context.Canceled)
	err = second.Wait(ctx)
	fmt.Fprintln(w, err, errors.Is(err, context.Canceled), "and the future is done:", never.Done())
	return nil
}
