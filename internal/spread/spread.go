// Package spread is what package shard may ask of package socket: a Server whose
// connections are served by several loops. Package socket fills it in.
package spread

import (
	"context"
	"net"
)

// Loops are the loops that serve. Each has a number, from 0 to N-1.
type Loops struct {
	N int

	// Home is the number of the loop that accepts.
	Home int

	// Call runs fn in a task of a loop and returns when it has ended.
	Call func(ctx context.Context, loop int, fn func(ctx context.Context) error) error

	// Send runs fn as a callback of a loop, after what was sent to it before. Any
	// goroutine may call it. If the loop has ended, lost is called in place of fn, on
	// any goroutine, unless it is nil.
	Send func(loop int, fn, lost func())
}

// Options say how to serve.
type Options struct {
	// Listener is the *socket.Listener from which one task accepts for all loops. It is
	// nil if Listen opens one for each loop, on that loop.
	Listener net.Listener
	Listen   func(ctx context.Context) (net.Listener, error)

	// Wrap returns the listener from which a loop's connections are accepted; nil
	// leaves l as it is.
	Wrap func(ctx context.Context, l net.Listener) net.Listener
}

// Serve serves by a *socket.Server, as its Serve does.
var Serve func(ctx context.Context, server any, loops Loops, o Options) error
