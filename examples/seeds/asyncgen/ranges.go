package main

// Ranges over a sequence that waits: to its end, and not to its end.
// Leaving a range ends the sequence there and then, and with it the clean-up; no
// hook is needed, and nothing is left for later.

import (
	"context"
	"fmt"
	"io"
)

func ranges(ctx context.Context, w io.Writer) error {
	for n := range numbers(ctx, w, "the first") {
		fmt.Fprintln(w, n)
	}
	fmt.Fprintln(w, "main is behind the first range")
	for n := range numbers(ctx, w, "the second") {
		fmt.Fprintln(w, n)
		break
	}
	fmt.Fprintln(w, "main is behind the second range")
	return nil
}
