package main

// Primes by a chain of coroutines: a counter, and for each prime a
// filter that takes its multiples out. Who resumes whom changes as the chain grows:
// the last link is the main line's until the next filter is put behind it.

import (
	"fmt"
	"io"

	"github.com/rondo-go/rondo/coro"
)

// sieveByFlag tells every link at each number whether to go on, and ends the chain
// from its last link to its first by saying no.
func sieveByFlag(w io.Writer) error {
	next := counterByFlag()
	for range 10 {
		p, _ := next(true)
		fmt.Fprintln(w, p)
		next = filterByFlag(p, next)
	}
	next(false)
	return nil
}

func counterByFlag() func(more bool) (int, bool) {
	resume, _ := coro.New(func(more bool, yield func(int) bool) int {
		for i := 2; more; i++ {
			more = yield(i)
		}
		return 0
	})
	return resume
}

func filterByFlag(p int, next func(bool) (int, bool)) func(more bool) (int, bool) {
	resume, _ := coro.New(func(more bool, yield func(int) bool) int {
		for more {
			if n, _ := next(true); n%p != 0 {
				more = yield(n)
			}
		}
		next(false)
		return 0
	})
	return resume
}

// nothing is what the links are resumed with when there is nothing to say.
type nothing = struct{}

// sieve cancels every link instead, in deferred calls, so that the links need not
// ask; and they are cancelled too if one of them has a fault.
func sieve(w io.Writer) error {
	next, cancel := counter()
	defer cancel()
	for range 10 {
		p, _ := next(nothing{})
		fmt.Fprintln(w, p)
		next, cancel = filter(p, next)
		defer cancel()
	}
	return nil
}

// faultySieve has a filter that panics. The panic passes along the chain, from
// each link to the one that has resumed it, and ends in the main line.
func faultySieve(w io.Writer) error {
	ended := 0
	next, cancel := counter()
	defer func() { fmt.Fprintln(w, "main line has:", recover(), "and cancelled", ended, "links") }()
	for i := range 10 {
		defer func(cancel func()) {
			cancel()
			ended++
		}(cancel)
		p, _ := next(nothing{})
		fmt.Fprintln(w, p)
		if before := next; i == 2 {
			next = func(nothing) (int, bool) {
				n, more := before(nothing{})
				if n > 10 {
					panic(fmt.Sprintf("no number above 10, and this is %d", n))
				}
				return n, more
			}
		}
		next, cancel = filter(p, next)
	}
	return nil
}

func counter() (next func(nothing) (int, bool), cancel func()) {
	return coro.New(func(_ nothing, yield func(int) nothing) int {
		for i := 2; ; i++ {
			yield(i)
		}
	})
}

func filter(p int, next func(nothing) (int, bool)) (filtered func(nothing) (int, bool), cancel func()) {
	return coro.New(func(_ nothing, yield func(int) nothing) int {
		for {
			if n, _ := next(nothing{}); n%p != 0 {
				yield(n)
			}
		}
	})
}
