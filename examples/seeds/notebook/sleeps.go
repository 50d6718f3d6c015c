package main

// Two tasks sleep at the same time: one for a second and then for half of one,
// the other for two.

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/examples/seeds/notebook/loop"
)

func sleepsByHand(w io.Writer) error {
	var l loop.Loop
	l.Go(func() error {
		fmt.Fprintln(w, "task 1 starts")
		if err := l.Sleep(time.Second); err != nil {
			return err
		}
		fmt.Fprintln(w, "task 1 has slept once")
		err := l.Sleep(time.Second / 2)
		fmt.Fprintln(w, "task 1 ends")
		return err
	})
	l.Go(func() error {
		fmt.Fprintln(w, "task 2 starts")
		err := l.Sleep(2 * time.Second)
		fmt.Fprintln(w, "task 2 ends")
		l.Stop()
		return err
	})
	return l.Run()
}

func sleeps(ctx context.Context, w io.Writer) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(ctx context.Context) error {
			fmt.Fprintln(w, "task 1 starts")
			if err := rondo.Sleep(ctx, time.Second); err != nil {
				return err
			}
			fmt.Fprintln(w, "task 1 has slept once")
			err := rondo.Sleep(ctx, time.Second/2)
			fmt.Fprintln(w, "task 1 ends")
			return err
		})
		g.Go(func(ctx context.Context) error {
			fmt.Fprintln(w, "task 2 starts")
			err := rondo.Sleep(ctx, 2*time.Second)
			fmt.Fprintln(w, "task 2 ends")
			return err
		})
		return nil
	})
}
