// Package peer is what package httptask may ask of the sessions of package socket and
// programs may not: to be told of the end of a connection, to hand one over, also to goroutines
// of net/http, and to watch the client while a handler runs. Package socket fills it in.
package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
)

// A Session is one connection of a *socket.Server, in place of the function that the
// server's field Session returns. Its methods are called in a task.
type Session interface {
	// Secured is called when the handshake of TLS is done and nothing has been read since.
	// An error ends the connection.
	Secured(ctx context.Context) error

	// Serve is that function.
	Serve(ctx context.Context) error

	// Closed is called once, after the server has closed the connection.
	Closed()

	// Ends is called when the server is to end and the connection is not idle.
	Ends()

	// Keeps reports whether CloseIdle leaves the connection open although it is idle.
	Keeps() bool
}

// ErrTaken is the error of a Serve, or a Secured, after which the connection belongs to the
// program: the server forgets it and does not close it.
var ErrTaken = errors.New("rondo: the connection was taken over")

// SetSessions makes a *socket.Server, which must have a field Session, use h in its
// place. SetSessions is called before Serve.
var SetSessions func(server any, h *Hooks)

// Panicked counts a panic of a function that a Session of server has called, if the Session
// has recovered it. Any goroutine may call it.
var Panicked func(server any)

// CloseIdle closes the connections of server that are idle, but for those that a Session keeps.
// Only on the loop of server.
var CloseIdle func(server any)

// Hooks are what a *socket.Server calls for its sessions.
type Hooks struct {
	// Begin is called, in a task, with each new connection. It returns nil to refuse it.
	Begin func(ctx context.Context, c net.Conn) Session

	// Closed is the cause with which Shutdown cancels what still runs.
	Closed error

	// TLS makes a *socket.TLSConn of each connection; nil: none is.
	TLS *tls.Config
}

// Stop begins the Shutdown of server, as its method does, and does not wait: the listeners and the
// idle connections are closed. Any goroutine may call it.
var Stop func(server any)

// A Watcher is called once, on the loop, when there may be something to read. It must not
// wait.
type Watcher interface{ Ready() }

// Watches reports whether Watch works for the sockets of the system.
var Watches bool

// Watch makes w be called once as soon as a Read of c would not wait. If that is so
// already it returns true, and w is not called. c is a connection of a session while no
// task reads it. Of a *socket.TLSConn the calling task may be suspended. Only on the loop.
//
// Where nothing reports readiness without a goroutine (the portable driver) it does nothing
// and returns false.
var Watch func(c net.Conn, w Watcher) (ready bool)

// Unwatch undoes Watch. Only on the loop.
var Unwatch func(c net.Conn)

// Ended reports whether a Read of c would find the end of the stream or an error, and not
// data. It takes nothing and never waits, but of a *socket.TLSConn it must follow a Watch that has
// returned true. Only on the loop.
var Ended func(c net.Conn) bool

// Release makes of a connection of a session one that goroutines use without the loop: a
// connection of package net, or for a *socket.TLSConn a *tls.Conn over one, with the keys and
// the bytes that it has. c may not be used any more.
var Release func(c net.Conn) (net.Conn, error)
