package main

// Fibonacci's numbers once more, from functions whose state is their variables
// and the line that they have reached.

import (
	"fmt"
	"io"
	"iter"

	"github.com/rondo-go/rondo/coro"
)

// generators prints the same eight numbers from a function that range calls, and
// from one that pauses at each number until it is asked for the next.
func generators(w io.Writer) error {
	for n := range firstFibonacci(8) {
		fmt.Fprintln(w, "iter.Seq:", n)
	}

	g := coro.NewGenerator(func(y *coro.Yielder[int, struct{}]) (string, error) {
		a, b := 0, 1
		for range 8 {
			a, b = b, a+b
			if _, err := y.Yield(a); err != nil {
				return "", err
			}
		}
		return "that was all", nil
	})
	for n := range g.All() {
		fmt.Fprintln(w, "generator:", n)
	}
	result, err := g.Result()
	fmt.Fprintln(w, "it returned:", result)
	return err
}

// firstFibonacci returns the first numbers of Fibonacci's sequence.
func firstFibonacci(limit int) iter.Seq[int] {
	return func(yield func(int) bool) {
		a, b := 0, 1
		for range limit {
			a, b = b, a+b
			if !yield(a) {
				return
			}
		}
	}
}
