package main

// This step shows functions of the loop that pause themselves, accept, read and
// write, and a connection that delegates to them: while one runs, its pauses are
// those of the connection. The loop is the one of the step before. What is left of
// it in sight is YieldFrom, and the Yielder that each function hands to the next.
// The last step needs neither.

import (
	"io"

	"github.com/rondo-go/rondo/coro"
	"github.com/rondo-go/rondo/examples/seeds/internal/bare"
)

// A call is one that pauses, and gives a T at its end.
type call[T any] = coro.Generator[wait, struct{}, T]

// accept returns the next connection.
func accept(fd int) *call[int] {
	return coro.NewGenerator(func(y *waits) (int, error) {
		if _, err := y.Yield(wait{fd: fd}); err != nil {
			return -1, err
		}
		return bare.Accept(fd)
	})
}

// read reads what has arrived, as soon as something has.
func read(fd int, p []byte) *call[int] {
	return coro.NewGenerator(func(y *waits) (int, error) {
		if _, err := y.Yield(wait{fd: fd}); err != nil {
			return 0, err
		}
		return bare.Read(fd, p)
	})
}

// write writes all of p.
func write(fd int, p []byte) *call[int] {
	return coro.NewGenerator(func(y *waits) (written int, err error) {
		for written < len(p) {
			if _, err := y.Yield(wait{fd: fd, write: true}); err != nil {
				return written, err
			}
			n, err := bare.Write(fd, p[written:])
			written += n
			if err != nil {
				return written, err
			}
		}
		return written, nil
	})
}

func delegation(w io.Writer) error { return server(serveByDelegation).meet(w, 3) }

func serveByDelegation(connections int, listening func(address string)) error {
	fd, address, err := bare.Listen()
	if err != nil {
		return err
	}
	defer bare.Close(fd)
	listening(address)
	var r waitingRoom
	r.add(func(y *waits) error {
		for range connections {
			conn, err := coro.YieldFrom(y, accept(fd))
			if err != nil {
				return err
			}
			r.add(func(y *waits) error { return handleByDelegation(y, conn) })
		}
		return nil
	})
	return r.run()
}

func handleByDelegation(y *waits, fd int) error {
	defer bare.Close(fd)
	var data [4096]byte
	for {
		n, err := coro.YieldFrom(y, read(fd, data[:]))
		if n == 0 || err != nil {
			return err
		}
		if _, err := coro.YieldFrom(y, write(fd, data[:n])); err != nil {
			return err
		}
	}
}
