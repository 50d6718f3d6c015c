package main

// The question of who goes first, timers that are due or tasks that can run. Two
// tasks are always ready, until a timer that is due at once goes off, or until
// they have been patient for a thousand rounds.

import (
	"context"
	"fmt"
	"io"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/examples/seeds/notebook/loop"
)

const patience = 1000

// policies tries both policies that a loop of package loop has.
func policies(w io.Writer) error {
	for _, first := range []bool{false, true} {
		l := loop.Loop{TimersFirst: first}
		fired := false
		l.CallLater(0, func() { fired = true })
		turn := func() error {
			for i := 0; i < patience && !fired; i++ {
				if err := l.Yield(); err != nil {
					return err
				}
			}
			return nil
		}
		l.Go(func() error {
			defer l.Stop()
			other := l.Go(turn)
			if err := turn(); err != nil {
				return err
			}
			return other.Wait()
		})
		if err := l.Run(); err != nil {
			return err
		}
		fmt.Fprintf(w, "timers first: %v; the timer went off in time: %v\n", first, fired)
	}
	return nil
}

// policy does the same on Rondo, which asks for due timers between two turns, or
// after 64 steps if the turns are short. So neither side starves.
func policy(ctx context.Context, w io.Writer) error {
	fired := false
	rondo.LoopOf(ctx).CallLater(0, func() { fired = true })
	turn := func(ctx context.Context) error {
		for i := 0; i < patience && !fired; i++ {
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	err := rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(turn)
		g.Go(turn)
		return nil
	})
	fmt.Fprintf(w, "Rondo; the timer went off in time: %v\n", fired)
	return err
}
