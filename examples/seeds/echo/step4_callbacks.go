package main

// This step shows one goroutine for all connections: it asks the system which of
// them have something to do, and calls what was registered for those. That is an
// event loop. What was one function is in pieces: each piece must return where it
// would wait, and leave what the next one has to know in a struct. Nor is there a
// defer that would close the other connections after an error. The next step has
// functions that pause instead.

import (
	"io"

	"github.com/rondo-go/rondo/examples/seeds/internal/bare"
)

func callbacks(w io.Writer) error { return server(serveByCallbacks).meet(w, 3) }

// A switchboard is the loop, and what is to be called.
type switchboard struct {
	selector bare.Selector[func() error]
}

func serveByCallbacks(connections int, listening func(address string)) error {
	fd, address, err := bare.Listen()
	if err != nil {
		return err
	}
	defer bare.Close(fd)
	var s switchboard
	s.selector.Read(fd, func() error { return s.accept(fd, connections) })
	listening(address)
	for s.selector.Len() > 0 {
		ready, err := s.selector.Select(-1)
		if err != nil {
			return err
		}
		for _, call := range ready {
			if err := call(); err != nil {
				return err
			}
		}
	}
	return nil
}

// accept takes a connection, and is registered for the next one.
func (s *switchboard) accept(fd, connections int) error {
	conn, err := bare.Accept(fd)
	switch {
	case err == bare.ErrWouldBlock:
	case err != nil:
		return err
	default:
		c := &connection{switchboard: s, fd: conn}
		s.selector.Read(conn, c.readable)
		connections--
	}
	if connections > 0 {
		s.selector.Read(fd, func() error { return s.accept(fd, connections) })
	}
	return nil
}

// A connection is what one client's callbacks have in common.
type connection struct {
	*switchboard
	fd   int
	data [4096]byte
	left []byte // what is still to be sent back
}

func (c *connection) readable() error {
	n, err := bare.Read(c.fd, c.data[:])
	switch {
	case err == bare.ErrWouldBlock:
		c.selector.Read(c.fd, c.readable)
		return nil
	case err != nil:
		return err
	case n == 0:
		return bare.Close(c.fd)
	}
	c.left = c.data[:n]
	c.selector.Write(c.fd, c.writable)
	return nil
}

func (c *connection) writable() error {
	n, err := bare.Write(c.fd, c.left)
	if err != nil && err != bare.ErrWouldBlock {
		return err
	}
	if c.left = c.left[n:]; len(c.left) > 0 {
		c.selector.Write(c.fd, c.writable)
	} else {
		c.selector.Read(c.fd, c.readable)
	}
	return nil
}
