package main

// A conversation of a server and its clients.

import (
	"io"
	"net"

	"github.com/rondo-go/rondo/examples/seeds/echo/internal/clients"
)

// A server serves so many connections and returns when all of them have ended. It
// calls listening, with its address, when clients may come.
type server func(connections int, listening func(address string)) error

// meet has the clients talk with a server of which they expect that it serves
// atOnce of them together.
func (s server) meet(w io.Writer, atOnce int) error {
	return s.run(clients.Count, func(address string) error { return clients.Talk(w, address, atOnce) })
}

// run runs the server, and talk as soon as there is an address.
func (s server) run(connections int, talk func(address string) error) error {
	address, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- s(connections, func(a string) { address <- a }) }()
	select {
	case a := <-address:
		if err := talk(a); err != nil {
			return err
		}
		return <-ended
	case err := <-ended:
		return err
	}
}

// listen announces on a free port, by package net.
func listen(listening func(address string)) (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		listening(l.Addr().String())
	}
	return l, err
}
