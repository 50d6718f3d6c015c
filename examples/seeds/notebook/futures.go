package main

// Three tasks wait for two futures: on the loop of package loop, and on Rondo.
// Both print the same.

import (
	"context"
	"fmt"
	"io"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/examples/seeds/notebook/loop"
)

func futuresByHand(w io.Writer) error {
	var l loop.Loop
	first, second := loop.NewFuture[string](&l), loop.NewFuture[string](&l)
	l.Go(func() error {
		fmt.Fprintln(w, "task 1 starts")
		v, err := first.Wait()
		if err != nil {
			return err
		}
		fmt.Fprintln(w, "the first future has", v)
		second.Set(v)
		fmt.Fprintln(w, "task 1 ends")
		return nil
	})
	for i := 2; i <= 3; i++ {
		l.Go(func() error {
			fmt.Fprintf(w, "task %d starts\n", i)
			v, err := second.Wait()
			fmt.Fprintf(w, "task %d ends with %s\n", i, v)
			if i == 3 {
				l.Stop()
			}
			return err
		})
	}
	first.Set("a value for the first")
	return l.Run()
}

func futures(ctx context.Context, w io.Writer) error {
	first, second := rondo.NewFuture[string](ctx), rondo.NewFuture[string](ctx)
	first.Set("a value for the first")
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(ctx context.Context) error {
			fmt.Fprintln(w, "task 1 starts")
			v, err := first.Wait(ctx)
			if err != nil {
				return err
			}
			fmt.Fprintln(w, "the first future has", v)
			second.Set(v)
			fmt.Fprintln(w, "task 1 ends")
			return nil
		})
		for i := 2; i <= 3; i++ {
			g.Go(func(ctx context.Context) error {
				fmt.Fprintf(w, "task %d starts\n", i)
				v, err := second.Wait(ctx)
				fmt.Fprintf(w, "task %d ends with %s\n", i, v)
				return err
			})
		}
		return nil
	})
}
