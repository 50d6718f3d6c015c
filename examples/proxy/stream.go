package main

// A stream is the two sides of a connection, with an idle deadline.

import (
	"net"

	"github.com/rondo-go/rondo"
)

// A stream is one side of a connection: a *socket.Conn or a *socket.TLSConn.
type stream interface {
	net.Conn
	CloseWrite() error
}

// A lively stream extends the deadline of its scope whenever bytes arrive.
type lively struct {
	stream
	g *rondo.Scope
}

func (l lively) Read(p []byte) (int, error) {
	n, err := l.stream.Read(p)
	l.g.SetDeadline(rondo.Now(l.g).Add(*idle))
	return n, err
}
