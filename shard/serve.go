package shard

// Serve runs one server on all shards.

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"reflect"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/spread"
	"github.com/rondo-go/rondo/socket"
)

// A Server is a *socket.Server or an *httptask.Server. Other types may have these methods, but
// cannot be divided among loops: Serve panics if it is given one.
type Server interface {
	Serve(ctx context.Context, l net.Listener) error
	Shutdown(ctx context.Context) error
	Stats() socket.Stats
}

// A ServeConfig has options for Serve. The zero value is ready.
type ServeConfig struct {
	// Listen has the options of the listening socket. If its ReusePort is set, each shard has a
	// listening socket of its own, and the system distributes the connections by a hash of
	// their addresses: over 8 shards with 64 connections the fullest has 1.5 times the mean.
	// That saves the hand-over of a connection, a few microseconds, and pays only where
	// connections are very short. MaxConns of the Server is then divided among the shards, of
	// which each serves at least one.
	Listen socket.ListenConfig

	// Wrap returns the listener that a shard's Server accepts from. It is called on
	// each shard with the listener of that shard. nil means l itself.
	Wrap func(ctx context.Context, l net.Listener) net.Listener

	// TLS makes the server use TLS: for a socket.Server as socket.NewTLSListener does, and for
	// an httptask.Server as its ServeTLS does, with TLS in place of HTTP.TLSConfig. nil means
	// no TLS.
	TLS *tls.Config
}

// Serve calls Serve of a zero ServeConfig.
func Serve(ctx context.Context, network, address string, s Server) error {
	return new(ServeConfig).Serve(ctx, network, address, s)
}

// Serve listens on an address as socket.Listen does, and serves the connections on
// all shards, by the handler or session of s. It is called on one shard: a task there
// accepts, and hands each connection to the shard that has the fewest. The handler
// runs on that shard, and the connection stays there.
//
// Serve ends as s.Serve does, and returns the same errors, when the handlers on all shards have
// ended. s.Shutdown, which any goroutine may call, ends it gracefully: clients that have
// connected are served, new ones are refused, and none is reset. On Linux 5.7 or later that is
// certain, unless Serve is not accepting at that moment because MaxConns is reached or
// descriptors have run out. Then those that wait in the system's queue are reset. On other
// systems a client that connects at the last moment may be reset. The same holds for a socket
// that another process may have, such as one of socket.FileListener, if this process is the
// last to close it. Serve suspends the task.
//
// The MaxConns of a socket.Server limits the connections of all shards together, and its Conns
// counts them. It serves one call of Serve at a time. Its OnError is called on the shard of the
// connection, so it must not use what another one owns.
//
// The handlers of an httptask.Server run on all shards, each on the shard of its connection,
// also with HTTP/2. So state that handlers share must not belong to one shard. The same is true
// of ConnContext and ConnState. BaseContext is called once, on the shard that calls Serve. When
// ctx is cancelled, or Run is, requests that run on any shard have the Server's Grace. For an
// httptask.Server, Serve returns errors.ErrUnsupported where httptask.Server.Serve would leave
// all connections to net/http: on systems without epoll or kqueue, and if its Protocols have no
// HTTP/1.
func (c *ServeConfig) Serve(ctx context.Context, network, address string, s Server) error {
	mustHaveServer("Serve", s)
	me, err := c.home(ctx)
	if err != nil {
		return err
	}
	l, err := c.Listen.Listen(ctx, network, address)
	if err != nil {
		return err
	}
	if !c.Listen.ReusePort {
		return c.serve(ctx, me, s, l, nil)
	}
	// The first listener has found the port, if it was to be any.
	return c.serve(ctx, me, s, l, func(ctx context.Context) (net.Listener, error) {
		if Of(ctx) == me {
			return l, nil
		}
		return c.Listen.Listen(ctx, network, l.Addr().String())
	})
}

// ServeListener is Serve for a listener that is open, such as one of
// socket.FileListener. l belongs to the shard of ctx, and is closed when
// ServeListener returns. Listen is not used.
//
// Do not serve one listener of package net by a socket.Server on each shard instead:
// the shard that looks first takes what there is, so one of 8 may get most of the
// connections.
func (c *ServeConfig) ServeListener(ctx context.Context, l *socket.Listener, s Server) error {
	if l == nil {
		panic("rondo: shard.ServeListener with a nil Listener")
	}
	mustHaveServer("ServeListener", s)
	me, err := c.home(ctx)
	if err != nil {
		_ = l.Close()
		return err
	}
	return c.serve(ctx, me, s, l, nil)
}

func mustHaveServer(call string, s Server) {
	switch {
	case s != nil && spread.Of(s) == nil:
		panic(fmt.Sprintf("rondo: shard.%s of a %T: use a *socket.Server or an *httptask.Server", call, s))
	case s == nil || reflect.ValueOf(s).IsNil():
		panic("rondo: shard." + call + " with a nil Server")
	}
}

// home returns the shard that calls.
func (c *ServeConfig) home(ctx context.Context) (*Shard, error) {
	if err := rondo.Check(ctx); err != nil {
		return nil, err
	}
	me := Of(ctx)
	if me == nil {
		return nil, errNoShard("Serve")
	}
	return me, nil
}

// serve serves by all shards. In any case it closes l, which is the listener of me.
func (c *ServeConfig) serve(ctx context.Context, me *Shard, s Server, l *socket.Listener, listen func(ctx context.Context) (net.Listener, error)) (err error) {
	defer func() { // also after a panic
		if e := l.Close(); err == nil && !errors.Is(e, net.ErrClosed) {
			err = e
		}
	}()
	return spread.Of(s)(ctx, s, spread.Loops{
		N: me.Len(), Home: me.index,
		Call: func(ctx context.Context, i int, fn func(ctx context.Context) error) error {
			_, err := Call(ctx, me.At(i), func(ctx context.Context) (struct{}, error) { return struct{}{}, fn(ctx) })
			return err
		},
		Send: func(i int, fn, lost func()) { _ = me.At(i).box.put(action{fn, lost}, false) },
	}, spread.Options{Listener: l, Listen: listen, Wrap: c.Wrap, TLS: c.TLS})
}

// An action is a message that is a function to call, and one to call in its place if the
// loop has ended; nil: none.
type action struct{ fn, lost func() }

func (a action) deliver(*Shard) { a.fn() }

func (a action) refused(*Shard) {
	if a.lost != nil {
		a.lost()
	}
}
