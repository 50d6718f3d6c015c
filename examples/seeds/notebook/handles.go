package main

// A callback is cancelled before its time, and too late after it.

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/examples/seeds/notebook/loop"
)

func handlesByHand(w io.Writer) error {
	var l loop.Loop
	l.Go(func() error {
		defer l.Stop()
		say := func(text string) func() { return func() { fmt.Fprintln(w, text) } }
		start := l.Time()
		last := l.CallAt(start.Add(3*time.Second), say("third"))
		middle := l.CallLater(2*time.Second, say("second"))
		l.CallLater(time.Second, say("first"))
		if err := l.Sleep(3 * time.Second / 2); err != nil {
			return err
		}
		fmt.Fprintln(w, "the second is cancelled:", middle.Cancel())
		err := l.Sleep(5 * time.Second)
		fmt.Fprintln(w, "the third is cancelled:", last.Cancel())
		return err
	})
	return l.Run()
}

func handles(ctx context.Context, w io.Writer) error {
	l, start := rondo.LoopOf(ctx), rondo.Now(ctx)
	say := func(text string) func() { return func() { fmt.Fprintln(w, text) } }
	last := l.CallAt(start.Add(3*time.Second), say("third"))
	middle := l.CallLater(2*time.Second, say("second"))
	l.CallLater(time.Second, say("first"))
	if err := rondo.Sleep(ctx, 3*time.Second/2); err != nil {
		return err
	}
	fmt.Fprintln(w, "the second is cancelled:", middle.Cancel())
	err := rondo.Sleep(ctx, 5*time.Second)
	fmt.Fprintln(w, "the third is cancelled:", last.Cancel())
	return err
}
