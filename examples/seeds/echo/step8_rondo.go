package main

// This step shows the same server on Rondo. Each connection is a task, which any
// function that it calls may suspend: handle is the one of the first step, and does
// not know. One task runs at a time, so what tasks share needs no lock; the first
// that fails cancels the others, and the server ends when all have.

import (
	"context"
	"io"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

func tasks(w io.Writer) error { return server(serveByTasks).meet(w, 3) }

func serveByTasks(connections int, listening func(address string)) error {
	return rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			l, err := socket.Listen(g, "tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			defer l.Close()
			listening(l.Addr().String())
			for range connections {
				c, err := l.Accept()
				if err != nil {
					return err
				}
				g.Go(func(context.Context) error { return handle(c) })
			}
			return nil
		})
	})
}
