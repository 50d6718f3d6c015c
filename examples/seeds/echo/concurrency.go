package main

// Concurrency without any help, with generators that take turns, and with a
// generator that lets the loop run the next one; and a task on a loop that
// knows only callbacks.

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/coro"
	"github.com/rondo-go/rondo/socket"
)

// parts interleaves two tasks that were cut in pieces by hand.
func parts(w io.Writer) error {
	part := func(task, part int) { fmt.Fprintf(w, "by hand: task %d, part %d\n", task, part) }
	part(1, 1)
	part(2, 1)
	part(1, 2)
	part(2, 2)

	// The same, of tasks that are whole: they pause between two parts.
	var c carousel
	for task := 1; task <= 2; task++ {
		c.add(func(y *pauses) error {
			fmt.Fprintf(w, "in turns: task %d, part 1\n", task)
			_, err := y.Yield(struct{}{})
			fmt.Fprintf(w, "in turns: task %d, part 2\n", task)
			return err
		})
	}
	return c.run()
}

// A routine pauses with another one that is to be run first, and is sent what that
// has returned.
type routine = coro.Generator[any, string, string]

// trampoline runs a routine and those that it calls without delegation: the loop
// keeps the stack of who waits for whom. Before there was delegation it was done so.
func trampoline(w io.Writer) error {
	inner := coro.NewGenerator(func(y *coro.Yielder[any, string]) (string, error) {
		fmt.Fprintln(w, "inner: runs")
		return "data", nil
	})
	outer := coro.NewGenerator(func(y *coro.Yielder[any, string]) (string, error) {
		fmt.Fprintln(w, "outer: calls")
		data, err := y.Yield(inner)
		fmt.Fprintln(w, "outer: has", data)
		return data + ", received", err
	})
	stack := []*routine{outer}
	called, more := outer.Next()
	for {
		top := stack[len(stack)-1]
		if more {
			callee := called.(*routine)
			fmt.Fprintln(w, "loop: a call")
			stack = append(stack, callee)
			called, more = callee.Next()
			continue
		}
		result, err := top.Result()
		stack = stack[:len(stack)-1]
		if err != nil || len(stack) == 0 {
			fmt.Fprintln(w, "loop: the result is", result)
			return err
		}
		fmt.Fprintln(w, "loop: a return")
		if called, more, err = stack[len(stack)-1].Send(result); err != nil {
			return err
		}
	}
}

// futures has a callback of the loop read a descriptor and set a future, for which
// a task waits: tasks on top of callbacks.
func futures(w io.Writer) error {
	r, p, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	defer p.Close()
	return rondo.Run(context.Background(), func(ctx context.Context) error {
		data := rondo.NewFuture[string](ctx)
		stop := socket.WatchRead(ctx, r.Fd(), func() {
			fmt.Fprintln(w, "callback: the descriptor can be read")
			var text [100]byte
			if n, err := r.Read(text[:]); err != nil {
				data.Fail(err)
			} else {
				data.Set(string(text[:n]))
			}
		})
		defer stop()
		rondo.LoopOf(ctx).CallSoon(func() {
			fmt.Fprintln(w, "callback: writes")
			if _, err := io.WriteString(p, "data"); err != nil {
				data.Fail(err)
			}
		})
		fmt.Fprintln(w, "task: waits")
		text, err := data.Wait(ctx)
		fmt.Fprintln(w, "task: has", text)
		return err
	})
}
