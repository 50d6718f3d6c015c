// Package spread is what package shard may ask of packages socket and httptask: a Server whose
// connections are served by several loops. Each of the two says how its Server does it.
package spread

import (
	"context"
	"crypto/tls"
	"net"
	"reflect"
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
	// Listener is a *socket.Listener of the loop Home, from which one task accepts for all
	// loops, unless Listen opens one for each loop, on that loop. On Home Listen returns
	// Listener.
	Listener net.Listener
	Listen   func(ctx context.Context) (net.Listener, error)

	// Wrap returns the listener from which a loop's connections are accepted; nil
	// leaves l as it is.
	Wrap func(ctx context.Context, l net.Listener) net.Listener

	// TLS makes a *socket.TLSConn of each connection; nil: none is.
	TLS *tls.Config

	// Part is called on each loop with the *socket.Server that is to serve there; nil: it is
	// not called.
	Part func(loop int, server any)
}

// A Way serves by a server of one type, as its Serve does.
type Way func(ctx context.Context, server any, loops Loops, o Options) error

var ways = make(map[reflect.Type]Way)

// Add says how to serve by servers of the type of zero. It is called by an init.
func Add(zero any, way Way) { ways[reflect.TypeOf(zero)] = way }

// Of returns the way for a server, or nil if there is none.
func Of(server any) Way { return ways[reflect.TypeOf(server)] }
