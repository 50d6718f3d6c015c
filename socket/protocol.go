package socket

// This file has Protocol: connections that are served by callbacks, for programs
// with very many of them that are idle most of the time. A connection costs a
// Transport and its place in a list; it has no task, no stack and no buffer.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"reflect"
	"sync"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// The limits of a Protocol that says nothing about them, those of asyncio.
const (
	highDefault = 64 << 10
	lowPart     = 4 // Low is this part of High
)

// A Protocol says what is done when something happens on a connection. One value
// serves any number of connections; what belongs to one of them is in the
// Value of its Transport. Fields that are nil do what is said of each, and none
// may change while it serves.
//
// The order of calls for each connection is a law: Connected once; Data any
// number of times; EOF at most once; Lost once, whatever has happened. They run
// as callbacks of the loop, one at a time, and must not wait: a call that would
// panics. To wait, start a task with rondo.Go and the Transport's Context; that
// task may use the Transport as well.
//
// A panic in a callback ends the loop, whether or not the Runner has Recover set,
// as of any callback: no task answers for it. Every connection still gets its
// Lost.
//
// A connection that has much to say does not hold up the others: each is read
// once in its turn, and after 16 operations or 256 KiB tasks have theirs.
type Protocol struct {
	// Connected hears of the connection, before anything is read from it.
	Connected func(t *Transport)

	// Data is given what has arrived. b is valid only until it returns: all
	// connections share it. nil throws it away.
	Data func(t *Transport, b []byte)

	// EOF hears that the peer has ended its side. If it returns true the
	// connection stays open for writing, until Close; a peer that is gone by then
	// shows at a Write. If it returns false, or is nil, the Transport is closed.
	EOF func(t *Transport) (keepOpen bool)

	// Lost hears that the connection is over. err is nil if that was by Close,
	// Abort, or the end of both sides, the cause if the scope was cancelled, and
	// otherwise the error of the connection, a *net.OpError. The Transport still
	// knows its addresses.
	Lost func(t *Transport, err error)

	// PauseWriting is called, once, when more than High bytes are buffered, by the
	// very Write that buffered them and before it returns. ResumeWriting is called
	// when no more than Low are left, if the connection can still be written to.
	PauseWriting, ResumeWriting func(t *Transport)

	// High and Low are in bytes. If neither is given they are 64 KiB and 16 KiB; a
	// Low that is not given is a quarter of High, and a High that is not given four
	// times Low. A Low above High is an error of the program, and panics.
	High, Low int

	// OnError is told of an error of Accept after which Serve goes on, as
	// syscall.EMFILE. It is called in the task of Serve. nil means slog at level
	// Error.
	OnError func(err error)

	mu          sync.Mutex
	dispatchers map[context.Context]*dispatcher // of Attach
}

// limits gives High and Low as they are to be.
func (p *Protocol) limits(call string) (high, low int) {
	high, low = p.High, p.Low
	switch {
	case high == 0 && low == 0:
		high = highDefault
		low = high / lowPart
	case high == 0:
		high = lowPart * low
	case low == 0:
		low = high / lowPart
	}
	if low < 0 || high < low {
		panic(fmt.Sprintf("rondo: socket.Protocol.%s with High %d and Low %d: it takes High >= Low >= 0", call, p.High, p.Low))
	}
	return high, low
}

// Serve accepts connections from l until ctx is cancelled or l is closed or
// fails, and returns when each connection has had its Lost; it has then closed l.
// If ctx was cancelled it cuts off the connections and returns the cause. If l
// came to an end it closes them, which sends what is buffered, and returns the
// error of Accept; cancelling ctx cuts that short.
//
// l is a *Listener, a *net.TCPListener or a *net.UnixListener. What stands around
// a connection, as crypto/tls does, needs a task that reads: use Server. An error
// of Accept that more descriptors or memory would cure does not end Serve, as
// with Server. One Protocol may serve several listeners, and on several loops.
func (p *Protocol) Serve(ctx context.Context, l net.Listener) error {
	if l == nil {
		panic("rondo: socket.Protocol.Serve with a nil Listener")
	}
	high, low := p.limits("Serve")
	loop, err := loopOf(ctx, "Protocol.Serve")
	if err != nil {
		return err
	}
	if err := rondo.Check(ctx); err != nil {
		return err
	}
	if err := fd.Supported(loop); err != nil {
		return fmt.Errorf("rondo: socket.Protocol.Serve: %w", err)
	}
	if l, err = adoptListener(loop, "Protocol.Serve", l); err != nil {
		return err
	}
	mine, ok := l.(*Listener)
	if !ok {
		return fmt.Errorf("rondo: socket.Protocol.Serve cannot take connections from a %T, use a Server: %w", l, errors.ErrUnsupported)
	}
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		b := newDispatcher(p, loop, g, high, low)
		b.start()
		// Nothing is left of either, unless OnError panics.
		defer b.abortAll(g, net.ErrClosed)
		defer mine.Close()
		err := p.accept(g, b, mine)
		_ = mine.Close()
		b.closeAll()
		if cause := b.wait(g); cause != nil {
			return cause
		}
		return err
	})
}

// own gives a listener of package net the form that this package has. One of
// another loop would block this one.
func adoptListener(loop kernel.Loop, call string, l net.Listener) (net.Listener, error) {
	switch std := l.(type) {
	case *Listener:
		if std.fd.Loop() != loop {
			return nil, fmt.Errorf("rondo: socket.%s on %s: the Listener belongs to another loop", call, l.Addr())
		}
	case *net.TCPListener:
		return newListener(loop, std, keepAlive(0, net.KeepAliveConfig{})), nil
	case *net.UnixListener:
		return newListener(loop, std, net.KeepAliveConfig{}), nil
	}
	return l, nil
}

// accept makes a Transport of each connection.
func (p *Protocol) accept(g *rondo.Scope, b *dispatcher, l *Listener) error {
	var delay backOff
	for {
		s, peer, err := l.acceptStream()
		if err == nil {
			delay = 0
			b.add(s, peer)
			continue
		}
		if g.Err() != nil {
			return context.Cause(g)
		}
		if !temporary(err) {
			return l.fail("accept", err)
		}
		if err := delay.after(g, l, err, p.report); err != nil {
			return err
		}
	}
}

func (p *Protocol) report(err error) {
	if p.OnError != nil {
		p.OnError(err)
		return
	}
	slog.Error(err.Error())
}

// Attach takes over a connection that was dialled or accepted: a *Conn of the
// loop, a *net.TCPConn or a *net.UnixConn. From then on c is closed for all who
// still hold it. Connected is called when Attach has returned, so there is time
// to set the Value; what the system has received and nobody has read comes as
// Data. What was read from c already, by a bufio.Reader say, is its reader's to
// hand on.
//
// The scope that ctx belongs to owns the connection, as it would a task: it is
// not left before Lost was called, and if it is cancelled the connection is cut
// off. All that are attached with one ctx share what this takes, a task; so a
// program with many gives each the ctx of the scope that is to own them all.
//
// If it fails c is as it was: a connection of another kind or another loop, or
// one that a task is reading or writing. It never suspends, may be called in a
// callback, and panics if it is called by a goroutine that is not on the loop.
func (p *Protocol) Attach(ctx context.Context, c net.Conn) (*Transport, error) {
	high, low := p.limits("Attach")
	loop, err := loopOf(ctx, "Protocol.Attach")
	if err != nil {
		return nil, err
	}
	mustBeInside(loop, "Protocol.Attach")
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := fd.Supported(loop); err != nil {
		return nil, fmt.Errorf("rondo: socket.Protocol.Attach: %w", err)
	}
	var f *fd.FD
	switch c := c.(type) {
	case *Conn:
		f = c.fd
	case *net.TCPConn:
		f = fd.Adopt(loop, c)
	case *net.UnixConn:
		f = fd.Adopt(loop, c)
	default:
		return nil, fmt.Errorf("rondo: socket.Protocol.Attach cannot take over a %T: %w", c, errors.ErrUnsupported)
	}
	if f.Loop() != loop {
		return nil, fmt.Errorf("rondo: socket.Protocol.Attach of %v: it belongs to another loop", c.RemoteAddr())
	}
	peer := c.RemoteAddr()
	s, err := f.Detach()
	if err != nil {
		return nil, fmt.Errorf("rondo: socket.Protocol.Attach of %v: %w", peer, err)
	}
	return p.dispatcherFor(ctx, loop, high, low).add(s, tcpPeer(peer)), nil
}

// board gives the dispatcher of ctx, and makes one, with a task that attends to
// it, if there is none.
func (p *Protocol) dispatcherFor(ctx context.Context, loop kernel.Loop, high, low int) *dispatcher {
	// What cannot be compared cannot be found again.
	shared := reflect.ValueOf(ctx).Comparable()
	if shared {
		p.mu.Lock()
		b := p.dispatchers[ctx]
		p.mu.Unlock()
		if b != nil {
			return b
		}
	}
	b := newDispatcher(p, loop, ctx, high, low)
	p.mu.Lock()
	defer p.mu.Unlock()
	if shared {
		if p.dispatchers == nil {
			p.dispatchers = make(map[context.Context]*dispatcher)
		}
		p.dispatchers[ctx] = b
	}
	rondo.Go(ctx, func(own context.Context) error {
		b.ctx = own
		b.start()
		err := b.wait(own)
		if shared {
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.dispatchers, ctx)
		}
		return err
	}).SetName("protocol")
	return b
}
