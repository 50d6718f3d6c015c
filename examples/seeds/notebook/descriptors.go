package main

// A task waits for a file descriptor, the reading end of a pipe. It blocks
// nobody: another task counts meanwhile, and then writes to the pipe.

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/examples/seeds/notebook/loop"
	"github.com/rondo-go/rondo/socket"
)

func descriptorsByHand(w io.Writer) error {
	r, p, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	defer p.Close()
	var l loop.Loop
	l.Go(func() error {
		defer l.Stop()
		fmt.Fprintln(w, "the reader waits")
		if err := l.WaitRead(r.Fd()); err != nil {
			return err
		}
		return receive(w, r)
	})
	l.Go(func() error {
		for i := range 3 {
			fmt.Fprintln(w, "the writer counts", i+1)
			if err := l.Yield(); err != nil {
				return err
			}
		}
		return send(w, p)
	})
	return l.Run()
}

func descriptors(w io.Writer) error {
	r, p, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	defer p.Close()
	return rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				fmt.Fprintln(w, "the reader waits")
				if err := socket.WaitRead(ctx, r.Fd()); err != nil {
					return err
				}
				return receive(w, r)
			})
			g.Go(func(ctx context.Context) error {
				for i := range 3 {
					fmt.Fprintln(w, "the writer counts", i+1)
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
				return send(w, p)
			})
			return nil
		})
	})
}

func send(w io.Writer, p *os.File) error {
	_, err := io.WriteString(p, "hello")
	fmt.Fprintln(w, "the writer has written")
	return err
}

func receive(w io.Writer, r *os.File) error {
	var text [100]byte
	n, err := r.Read(text[:])
	fmt.Fprintln(w, "the reader has", string(text[:n]))
	return err
}
