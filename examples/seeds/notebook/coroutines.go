package main

// Coroutines run by hand, from the main line, to show what a loop does
// with them. A coroutine has a stack of its own, so whatever it calls may pause
// it; there is no await, and no kind of function that only some may call.

import (
	"fmt"
	"io"

	"github.com/rondo-go/rondo/coro"
)

// coroutines resumes one coroutine that never pauses, and one that does.
func coroutines(w io.Writer) error {
	straight, cancel := coro.New(func(string, func(string) string) string {
		fmt.Fprintln(w, "first: enter")
		fmt.Fprintf(w, "first: got %q from a function\n", greeting())
		fmt.Fprintln(w, "first: done")
		return ""
	})
	defer cancel()
	_, alive := straight("")
	fmt.Fprintln(w, "main line: alive is", alive)

	paused, cancel := coro.New(func(_ string, yield func(string) string) string {
		fmt.Fprintln(w, "second: enter")
		fmt.Fprintf(w, "second: got %q\n", exchange(w, yield, "from the coroutine"))
		fmt.Fprintln(w, "second: done")
		return ""
	})
	defer cancel()
	fmt.Fprintln(w, "main line: about to resume")
	said, alive := paused("")
	fmt.Fprintf(w, "main line: got %q, alive is %v\n", said, alive)
	_, alive = paused("from the main line")
	fmt.Fprintln(w, "main line: alive is", alive)
	return nil
}

func greeting() string { return "hi from a function" }

// exchange pauses whichever coroutine calls it, one call below its function:
// control goes to the main line with say, and comes back with the answer.
func exchange(w io.Writer, yield func(string) string, say string) string {
	fmt.Fprintln(w, "exchange: pausing")
	answer := yield(say)
	fmt.Fprintln(w, "exchange: going on")
	return answer
}
