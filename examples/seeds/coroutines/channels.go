package main

// A coroutine in terms of goroutines: one that runs only
// while another waits for it, which two channels can bring about. Package coro
// means the same, and does it by the runtime's own switch, which costs a fraction.

import (
	"fmt"
	"io"

	"github.com/rondo-go/rondo/coro"
)

// newByChannels is coro.New without its cancel.
func newByChannels[In, Out any](f func(in In, yield func(Out) In) Out) (resume func(In) (Out, bool)) {
	type message struct {
		out   Out
		alive bool
		fault any
	}
	in, out := make(chan In), make(chan message)
	alive, begun := true, false // touched by whichever side runs, and one does
	body := func() {
		m := message{}
		defer func() {
			m.fault = recover()
			alive = false
			out <- m
		}()
		m.out = f(<-in, func(v Out) In {
			out <- message{out: v, alive: true}
			return <-in
		})
	}
	return func(v In) (none Out, _ bool) {
		if !alive {
			return none, false
		}
		if !begun {
			begun = true
			go body()
		}
		in <- v
		m := <-out
		if m.fault != nil {
			panic(m.fault)
		}
		return m.out, m.alive
	}
}

// channels runs the same functions on both.
func channels(w io.Writer) error {
	add := func(in int, yield func(int) int) int {
		sum := in
		for in != 0 {
			in = yield(sum)
			sum += in
		}
		return sum
	}
	fail := func(in int, yield func(int) int) int {
		yield(in)
		panic("fault")
	}
	for i, f := range []func(int, func(int) int) int{add, fail} {
		resume, cancel := coro.New(f)
		defer cancel()
		for _, resume := range []func(int) (int, bool){resume, newByChannels(f)} {
			for _, in := range []int{1, 2, 3, 0, 4} {
				func() {
					defer func() {
						if v := recover(); v != nil {
							fmt.Fprint(w, " panic: ", v)
						}
					}()
					out, alive := resume(in)
					fmt.Fprint(w, " ", out, " ", alive)
				}()
			}
			fmt.Fprintln(w, [...]string{" adding", " failing"}[i])
		}
	}
	return nil
}
