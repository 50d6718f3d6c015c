package main

// This step shows functions that pause, and a loop that runs one after the other.
// The code reads like that of the first step again. But the loop does not know
// what they pause for, so each takes its turn whether it has something to do or
// not, and if it has not, all wait for it: here for a fourth client. The next step
// has them say what they wait for.

import (
	"io"
	"net"

	"github.com/rondo-go/rondo/coro"
	"github.com/rondo-go/rondo/examples/seeds/echo/internal/clients"
)

// pauses is what a function pauses with, and a turn is such a function.
type (
	pauses = coro.Yielder[struct{}, struct{}]
	turn   = coro.Generator[struct{}, struct{}, struct{}]
)

// A carousel lets functions take turns, for as long as there are any.
type carousel struct {
	tasks []*turn
}

func (c *carousel) add(fn func(y *pauses) error) {
	c.tasks = append(c.tasks, coro.NewGenerator(func(y *pauses) (struct{}, error) { return struct{}{}, fn(y) }))
}

func (c *carousel) run() error {
	for len(c.tasks) > 0 {
		t := c.tasks[0]
		c.tasks = c.tasks[1:]
		if _, more := t.Next(); more {
			c.tasks = append(c.tasks, t)
		} else if _, err := t.Result(); err != nil {
			for _, other := range c.tasks {
				_ = other.Close() // there is an error to return
			}
			return err
		}
	}
	return nil
}

func serveInTurns(connections int, listening func(address string)) error {
	l, err := listen(listening)
	if err != nil {
		return err
	}
	defer l.Close()
	var c carousel
	c.add(func(y *pauses) error {
		for range connections {
			if _, err := y.Yield(struct{}{}); err != nil {
				return err
			}
			conn, err := l.Accept()
			if err != nil {
				return err
			}
			c.add(func(y *pauses) error { return handleInTurns(y, conn) })
		}
		return nil
	})
	return c.run()
}

func handleInTurns(y *pauses, conn net.Conn) error {
	defer conn.Close()
	var data [4096]byte
	for {
		if _, err := y.Yield(struct{}{}); err != nil {
			return err
		}
		n, err := conn.Read(data[:])
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := y.Yield(struct{}{}); err != nil {
			return err
		}
		if _, err := conn.Write(data[:n]); err != nil {
			return err
		}
	}
}

// turns has a server that would serve one client more than there are. It answers
// the first of them, and then it is its turn to accept, so that the others have
// no answer until somebody comes. From there on each client waits for the one
// before it; in most other orders none would ever have an answer again.
func turns(w io.Writer) error {
	return server(serveInTurns).run(clients.Count+1, func(address string) error {
		var c []*clients.Client
		dial := func() error {
			next, err := clients.Dial(w, len(c), address)
			c = append(c, next)
			return err
		}
		for range clients.Count {
			if err := dial(); err != nil {
				return err
			}
		}
		say := func(i int, word string) func() error { return func() error { return c[i].Say(word) } }
		hear := func(i int, word string) func() error { return func() error { return c[i].Hear(word) } }
		for _, do := range []func() error{
			say(0, "Hello"), say(1, "Hello"), say(2, "Hello"),
			hear(0, "Hello"), c[1].Wait, c[2].Wait,
			dial, func() error { return c[3].Leave() },
			say(0, "world!"), hear(1, "Hello"), hear(0, "world!"),
			say(1, "world!"), hear(2, "Hello"), c[0].Leave,
			hear(1, "world!"), say(2, "world!"), c[1].Leave,
			hear(2, "world!"), c[2].Leave,
		} {
			if err := do(); err != nil {
				return err
			}
		}
		return nil
	})
}
