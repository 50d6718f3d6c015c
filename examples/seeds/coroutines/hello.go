package main

// The smallest coroutines: one that never yields, and one that yields twice and
// returns.

import (
	"fmt"
	"io"
	"strings"

	"github.com/rondo-go/rondo/coro"
)

// upper calls a function in a long way round.
func upper(w io.Writer) error {
	resume, cancel := coro.New(func(in string, _ func(string) string) string { return strings.ToUpper(in) })
	defer cancel()
	out, alive := resume("hello world")
	fmt.Fprintf(w, "%q %v\n", out, alive)
	return nil
}

// hello resumes a coroutine until after its end.
func hello(w io.Writer) error {
	resume, cancel := coro.New(func(_ int, yield func(string) int) string {
		yield("hello")
		yield("world")
		return "done"
	})
	defer cancel()
	for range 4 {
		out, alive := resume(0)
		fmt.Fprintf(w, "%q %v\n", out, alive)
	}
	return nil
}
