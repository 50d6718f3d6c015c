package main

// Generators that are more than iterators: values and errors go in, a result
// comes out, and one can run another in its place. Steps 5 to 7 are made of them.

import (
	"errors"
	"fmt"
	"io"

	"github.com/rondo-go/rondo/coro"
)

// numbers and texts are what the generators here pause with.
type (
	numbers = coro.Yielder[int, string]
	number  = coro.Generator[int, string, int]
)

// count yields 1 and 2 and returns 3.
func count() *number {
	return coro.NewGenerator(func(y *numbers) (int, error) {
		for i := 1; i <= 2; i++ {
			if _, err := y.Yield(i); err != nil {
				return 0, err
			}
		}
		return 3, nil
	})
}

// results shows that a generator does nothing until it is asked, ends with a
// result, and can be ranged over.
func results(w io.Writer) error {
	g := count()
	defer g.Close()
	_, err := g.Result()
	fmt.Fprintln(w, "before:", err)
	for n, more := g.Next(); more; n, more = g.Next() {
		fmt.Fprintln(w, "next:", n)
	}
	result, err := g.Result()
	fmt.Fprintln(w, "result:", result)
	for n := range count().All() {
		fmt.Fprintln(w, "range:", n)
	}
	return err
}

// sends sends values to a generator: each comes out of the yield at which it is
// paused. One that has not started is at no yield.
func sends(w io.Writer) error {
	g := coro.NewGenerator(func(y *numbers) (int, error) {
		for i := 1; i <= 2; i++ {
			text, err := y.Yield(i)
			if err != nil {
				return 0, err
			}
			fmt.Fprintln(w, "got", text)
		}
		return 0, nil
	})
	defer g.Close()
	_, _, err := g.Send("too early")
	fmt.Fprintln(w, err)
	n, more := g.Next()
	fmt.Fprintln(w, "next:", n, more)
	for _, text := range []string{"two", "three"} {
		if n, more, err = g.Send(text); err != nil {
			return err
		}
		fmt.Fprintln(w, "send:", n, more)
	}
	return nil
}

var errLate = errors.New("too late")

// throws makes an error come out of the yield: the generator may go on, or end
// with it. Close does the same with an error of its own.
func throws(w io.Writer) error {
	patient := func() *number {
		return coro.NewGenerator(func(y *numbers) (int, error) {
			defer fmt.Fprintln(w, "the generator has cleaned up")
			for i := 0; ; i++ {
				if _, err := y.Yield(i); errors.Is(err, errLate) && i == 0 {
					fmt.Fprintln(w, "the generator forgives:", err)
				} else if err != nil {
					return i, err
				}
			}
		})
	}
	g := patient()
	g.Next()
	for range 2 {
		n, more, err := g.Throw(errLate)
		fmt.Fprintln(w, "throw:", n, more, err)
	}
	g = patient()
	g.Next()
	fmt.Fprintln(w, "close:", g.Close())
	n, err := g.Result()
	fmt.Fprintln(w, "result:", n, err)
	fmt.Fprintln(w, "close again:", g.Close())
	return nil
}

// delegates has one generator run another in its place. The caller of the outer one
// sees no difference; sends, throws and closes go through.
func delegates(w io.Writer) error {
	inner := func() *number {
		return coro.NewGenerator(func(y *numbers) (int, error) {
			defer fmt.Fprintln(w, "inner: ends")
			text, err := y.Yield(10)
			fmt.Fprintf(w, "inner: %q, %v\n", text, err)
			return len(text), err
		})
	}
	outer := func() *number {
		return coro.NewGenerator(func(y *numbers) (int, error) {
			defer fmt.Fprintln(w, "outer: ends")
			n, err := coro.YieldFrom(y, inner())
			fmt.Fprintln(w, "outer:", n, err)
			if err != nil {
				return 0, err
			}
			return 1 + n, nil
		})
	}
	for name, run := range []func(g *number) error{
		func(g *number) error { _, _, err := g.Send("value"); return err },
		func(g *number) error { _, _, err := g.Throw(errLate); return err },
		func(g *number) error { return g.Close() },
	} {
		g := outer()
		n, _ := g.Next()
		fmt.Fprintf(w, "%s after %d:\n", [...]string{"send", "throw", "close"}[name], n)
		err := run(g)
		fmt.Fprintln(w, "it gives:", err)
		n, err = g.Result()
		fmt.Fprintln(w, "result:", n, err)
	}
	return nil
}
