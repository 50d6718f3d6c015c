package main

// The parts of a coroutine: what starts it, what goes into it, what ends
// it, and how something that it calls suspends it.

import (
	"errors"
	"fmt"
	"io"

	"github.com/rondo-go/rondo/coro"
)

// paused is what the coroutines here are suspended with, which is nothing.
type (
	paused  = coro.Yielder[struct{}, struct{}]
	routine = coro.Generator[struct{}, struct{}, struct{}]
)

func newRoutine(fn func(y *paused) error) *routine {
	return coro.NewGenerator(func(y *paused) (struct{}, error) { return struct{}{}, fn(y) })
}

// anatomy makes a coroutine four times: it is left alone, run, thrown at, and
// closed.
func anatomy(w io.Writer) error {
	fresh := func() *routine {
		return newRoutine(func(*paused) error {
			fmt.Fprintln(w, "I am a coroutine")
			return nil
		})
	}
	fresh()
	fmt.Fprintln(w, "made, and nothing happens")
	_, alive := fresh().Next()
	fmt.Fprintln(w, "run; alive:", alive)
	_, alive, err := fresh().Throw(errors.New("oops"))
	fmt.Fprintln(w, "thrown at; alive:", alive, "error:", err)
	c := fresh()
	fmt.Fprintln(w, "closed:", c.Close())
	_, alive = c.Next()
	_, err = c.Result()
	fmt.Fprintln(w, "run after that; alive:", alive, "error:", err)
	return nil
}

// suspension has a coroutine that needs two runs, since what it calls suspends it.
func suspension(w io.Writer) error {
	await := func(y *paused) error {
		_, err := y.Yield(struct{}{})
		return err
	}
	c := newRoutine(func(y *paused) error {
		fmt.Fprintln(w, "entered")
		err := await(y)
		fmt.Fprintln(w, "resumed")
		return err
	})
	defer c.Close()
	for range 2 {
		_, alive := c.Next()
		fmt.Fprintln(w, "main line; alive:", alive)
	}
	return nil
}
