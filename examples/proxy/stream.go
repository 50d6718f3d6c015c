package main

// This file has the two sides of a connection, and lets two tasks use one
// tls.Conn although the peer is not trusted. The Write of a tls.Conn holds a lock
// that its Read may need, to answer the peer (RFC 8446, sections 4.6.3 and 6.2):
// if a Write waited with it, a peer that does not read could stop the loop.

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// A stream is one side of a connection: a *socket.Conn or a *tls.Conn.
type stream interface {
	net.Conn
	CloseWrite() error
}

// A lively stream puts off the deadline of its scope whenever something comes.
type lively struct {
	stream
	g *rondo.Scope
}

func (l lively) Read(p []byte) (int, error) {
	n, err := l.stream.Read(p)
	l.g.SetDeadline(rondo.Now(l.g).Add(*idle))
	return n, err
}

// An outbox lies under a tls.Conn. Its Write never waits; a task of its own sends.
// It holds what a secured stream writes at once, and few answers besides: a peer
// that makes more of them than it reads is cut off.
type outbox struct {
	*socket.Conn
	records *rondo.Queue[[]byte]
}

func (o outbox) Write(p []byte) (int, error) {
	if !o.records.TryPut(slices.Clone(p)) {
		return 0, errors.New("the peer does not read what it asks for")
	}
	return len(p), nil
}

// SetWriteDeadline does nothing: the end of a tls.Conn sets one that has passed,
// to have no more written, while the outbox still has something to send.
func (o outbox) SetWriteDeadline(time.Time) error { return nil }

func (o outbox) send(ctx context.Context) error {
	for r := range o.records.All(ctx) {
		if _, err := o.Conn.Write(r); err != nil {
			return err
		}
		o.records.TaskDone()
	}
	return nil
}

// A secured stream is written to when everything has left its outbox.
type secured struct {
	*tls.Conn
	ctx     context.Context
	records *rondo.Queue[[]byte]
}

func (s secured) Write(p []byte) (int, error) {
	if err := s.records.Join(s.ctx); err != nil {
		return 0, err
	}
	return s.Conn.Write(p)
}
