package main

// This step shows functions that pause with what they wait for, and a loop that
// runs each when that has come. It serves everybody, in code that reads like that
// of one connection, but for the pause before each call. The next step takes the
// pauses out of sight.

import (
	"io"

	"github.com/rondo-go/rondo/coro"
	"github.com/rondo-go/rondo/examples/seeds/internal/bare"
)

// A wait is what a function pauses with: the descriptor that it waits for.
type wait struct {
	fd    int
	write bool // to write; else to read
}

// waits is what a function pauses with, and a waiter is such a function.
type (
	waits  = coro.Yielder[wait, struct{}]
	waiter = coro.Generator[wait, struct{}, struct{}]
)

// A waitingRoom runs functions that wait for descriptors, until all have ended.
type waitingRoom struct {
	ready    []*waiter
	selector bare.Selector[*waiter]
	alive    map[*waiter]bool
}

func (r *waitingRoom) add(fn func(y *waits) error) {
	g := coro.NewGenerator(func(y *waits) (struct{}, error) { return struct{}{}, fn(y) })
	if r.alive == nil {
		r.alive = make(map[*waiter]bool)
	}
	r.alive[g] = true
	r.ready = append(r.ready, g)
}

// run returns the first error, when it has closed what still waits.
func (r *waitingRoom) run() (err error) {
	defer func() {
		for g := range r.alive {
			_ = g.Close() // there is an error to return
		}
	}()
	for len(r.alive) > 0 {
		for len(r.ready) > 0 {
			g := r.ready[0]
			r.ready = r.ready[1:]
			on, more := g.Next()
			switch {
			case !more:
				delete(r.alive, g)
				if _, err := g.Result(); err != nil {
					return err
				}
			case on.write:
				r.selector.Write(on.fd, g)
			default:
				r.selector.Read(on.fd, g)
			}
		}
		if r.ready, err = r.selector.Select(-1); err != nil {
			return err
		}
	}
	return nil
}

func waitsForDescriptors(w io.Writer) error { return server(serveWithWaits).meet(w, 3) }

func serveWithWaits(connections int, listening func(address string)) error {
	fd, address, err := bare.Listen()
	if err != nil {
		return err
	}
	defer bare.Close(fd)
	listening(address)
	var r waitingRoom
	r.add(func(y *waits) error {
		for range connections {
			if _, err := y.Yield(wait{fd: fd}); err != nil {
				return err
			}
			conn, err := bare.Accept(fd)
			if err != nil {
				return err
			}
			r.add(func(y *waits) error { return handleWithWaits(y, conn) })
		}
		return nil
	})
	return r.run()
}

func handleWithWaits(y *waits, fd int) error {
	defer bare.Close(fd)
	var data [4096]byte
	for {
		if _, err := y.Yield(wait{fd: fd}); err != nil {
			return err
		}
		n, err := bare.Read(fd, data[:])
		if n == 0 || err != nil {
			return err
		}
		for left := data[:n]; len(left) > 0; {
			if _, err := y.Yield(wait{fd: fd, write: true}); err != nil {
				return err
			}
			n, err := bare.Write(fd, left)
			if err != nil {
				return err
			}
			left = left[n:]
		}
	}
}
