package main

// Walks over sequences, each time by other means. In Go an iterator is
// a function that is given each element, an iter.Seq; to ask for
// the elements one by one, pull.

import (
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/rondo-go/rondo/coro"
)

// iterators asks for the elements of a slice one by one, beyond its end; then
// with a value that stands for the end; then lets range do the asking.
func iterators(w io.Writer) error {
	letters := []string{"a", "b", "c"}

	next, stop := coro.Pull(slices.Values(letters))
	defer stop()
	for range len(letters) + 1 {
		letter, more := next()
		fmt.Fprintf(w, "next: %q %v\n", letter, more)
	}

	nextOr, stopOr := orElse(slices.Values(letters[:1]), "no more")
	defer stopOr()
	fmt.Fprintf(w, "or else: %s, %s\n", nextOr(), nextOr())

	for letter := range slices.Values(letters) {
		fmt.Fprintln(w, "range over an iterator:", letter)
	}
	for _, letter := range letters {
		fmt.Fprintln(w, "range over the slice itself:", letter)
	}
	return nil
}

// orElse is coro.Pull whose next gives the value end when there are no more.
func orElse[V any](seq iter.Seq[V], end V) (next func() V, stop func()) {
	pull, stop := coro.Pull(seq)
	return func() V {
		if v, more := pull(); more {
			return v
		}
		return end
	}, stop
}

// A fibonacci has the state of a walk over the first numbers of Fibonacci's
// sequence, kept by hand between two calls.
type fibonacci struct {
	a, b int
	left int // numbers that are to come
}

// Next returns the next number, and false after the last one.
func (f *fibonacci) Next() (int, bool) {
	if f.left == 0 {
		return 0, false
	}
	f.left--
	f.a, f.b = f.b, f.a+f.b
	return f.a, true
}

// fibonacciByHand prints eight numbers of an iterator that is an object.
func fibonacciByHand(w io.Writer) error {
	f := fibonacci{a: 0, b: 1, left: 8}
	for n, more := f.Next(); more; n, more = f.Next() {
		fmt.Fprintln(w, n)
	}
	return nil
}
