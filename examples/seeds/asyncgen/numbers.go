package main

// numbers is the sequence that the programs here leave half-way. A sequence
// that waits is an ordinary iterator: a wait in it suspends the task.

import (
	"context"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/rondo-go/rondo"
)

// cleanUp is how long the sequences here take to clean up.
const cleanUp = time.Second

// numbers yields 1 to 3, and waits before each. Its clean-up waits too, whatever
// has been cancelled, and so it says Shield.
func numbers(ctx context.Context, w io.Writer, name string) iter.Seq[int] {
	return func(yield func(int) bool) {
		start := rondo.Now(ctx)
		after := func() time.Duration { return rondo.Now(ctx).Sub(start).Round(cleanUp) }
		defer func() {
			_ = rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, cleanUp) })
			fmt.Fprintf(w, "%s has cleaned up after %v\n", name, after())
		}()
		for i := 1; i <= 3; i++ {
			if rondo.Sleep(ctx, time.Millisecond) != nil || !yield(i) {
				fmt.Fprintf(w, "%s is ended after %v\n", name, after())
				return
			}
		}
		fmt.Fprintf(w, "%s is through after %v\n", name, after())
	}
}
