package main

// An error is put into a future instead of a value. It comes out of each
// task's Wait; and the error of a task comes out of a Wait for that
// task.

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/examples/seeds/notebook/loop"
)

var errNoAnswer = errors.New("no answer")

func failuresByHand(w io.Writer) error {
	var l loop.Loop
	answer := loop.NewFuture[int](&l)
	l.Go(func() error {
		defer l.Stop()
		asks := func() error {
			_, err := answer.Wait()
			return err
		}
		first, second := l.Go(asks), l.Go(asks)
		answer.Fail(errNoAnswer)
		fmt.Fprintln(w, "first:", first.Wait())
		fmt.Fprintln(w, "second:", second.Wait())
		return nil
	})
	return l.Run()
}

func failures(ctx context.Context, w io.Writer) error {
	answer := rondo.NewFuture[int](ctx)
	asks := func(ctx context.Context) error {
		_, err := answer.Wait(ctx)
		return err
	}
	first, second := rondo.Go(ctx, asks), rondo.Go(ctx, asks)
	answer.Fail(errNoAnswer)
	fmt.Fprintln(w, "first:", first.Wait(ctx))
	fmt.Fprintln(w, "second:", second.Wait(ctx))
	return nil
}
