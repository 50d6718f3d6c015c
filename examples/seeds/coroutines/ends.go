package main

// Coroutines that end in other ways than by returning: by a panic, and by being
// cancelled.

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/rondo-go/rondo/coro"
)

// panics has a coroutine panic. The caller that waits for it panics with the same
// value, and the stack where it happened is kept.
func panics(w io.Writer) error {
	c := coro.Make(func(_ nothing, yield func(string) nothing) string {
		yield("hello")
		fault()
		return "never"
	})
	defer c.Cancel()
	func() {
		defer func() { fmt.Fprintln(w, "main line panics:", recover()) }()
		for {
			out, alive := c.Resume(nothing{})
			fmt.Fprintln(w, out, alive)
		}
	}()
	fmt.Fprintln(w, "status:", c.Status())
	fmt.Fprintln(w, "the stack shows where:", bytes.Contains(c.PanicStack(), []byte(".fault(")))
	out, alive := c.Resume(nothing{})
	fmt.Fprintf(w, "%q %v\n", out, alive)
	return nil
}

func fault() { panic("world") }

// cancellation cancels coroutines that have not begun, that clean up, that refuse,
// that fail while they clean up, and that have ended.
func cancellation(w io.Writer) error {
	for _, c := range []struct {
		about string
		begin bool
		fn    func(yield func(int) int)
	}{
		{"not begun", false, func(func(int) int) { fmt.Fprintln(w, "  never runs") }},
		{"cleans up", true, func(yield func(int) int) {
			defer fmt.Fprintln(w, "  a deferred call runs")
			yield(0)
			fmt.Fprintln(w, "  never comes here")
		}},
		{"looks at it", true, func(yield func(int) int) {
			defer func() {
				err, _ := recover().(error)
				fmt.Fprintln(w, "  the yield panics:", err, errors.Is(err, coro.ErrCanceled))
			}()
			yield(0)
		}},
		{"fails by itself", true, func(yield func(int) int) {
			defer func() { panic("a fault in the clean-up") }()
			yield(0)
		}},
	} {
		resume, cancel := coro.New(func(_ int, yield func(int) int) int {
			c.fn(yield)
			return 0
		})
		fmt.Fprintln(w, c.about)
		if c.begin {
			resume(0)
		}
		func() {
			defer func() {
				if v := recover(); v != nil {
					fmt.Fprintln(w, "  cancel panics:", v)
				}
			}()
			cancel()
			fmt.Fprintln(w, "  cancelled")
		}()
		cancel() // it has ended, so this does nothing
		out, alive := resume(0)
		fmt.Fprintln(w, "  resume:", out, alive)
	}
	return nil
}

// loan has ten goroutines resume one coroutine. They take turns, so that what it
// counts needs no lock: there is more concurrency, and no more parallelism.
func loan(w io.Writer) error {
	count := 0
	resume, cancel := coro.New(func(_ nothing, yield func(int) nothing) int {
		for {
			count++
			yield(count)
		}
	})
	defer cancel()
	sums := make(chan int)
	for range 10 {
		go func() {
			sum := 0
			for range 100 {
				n, _ := resume(nothing{})
				sum += n
			}
			sums <- sum
		}()
	}
	total := 0
	for range 10 {
		total += <-sums
	}
	fmt.Fprintln(w, "counted to", count, "and the sum is", total)
	return nil
}
