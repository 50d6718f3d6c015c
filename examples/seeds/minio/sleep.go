package main

// Waits for time to pass.

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/rondo-go/rondo"
)

// sleep sleeps two seconds, five times. The loop has nothing else to do.
func sleep(ctx context.Context, w io.Writer) error {
	start := rondo.Now(ctx)
	for range 5 {
		if err := rondo.Sleep(ctx, 2*time.Second); err != nil {
			return err
		}
		fmt.Fprintln(w, "sleepy after", rondo.Now(ctx).Sub(start).Round(time.Second))
	}
	return nil
}
