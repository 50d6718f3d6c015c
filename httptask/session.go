package httptask

// A connection that a handler has taken over and that goes on as a session: it has no task and
// no buffer while its peer is silent.

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/errtree"
)

// Session makes a connection that a handler has taken over (Hijack) go on as a session when the
// handler has returned: serve is called in a task whenever a Read of it would not wait, and
// between the calls the connection has no task, no stack and no buffer. It is how many idle
// WebSockets are held; docs/HTTP.md has one. ctx is the context of the request, or one derived
// from it.
//
// The reader in begins with what came after the request, and reads on from the connection. It
// may be used during one call only: serve reads a whole message from it, and may wait in the
// middle as any task may. If serve returns nil while in has bytes left, it is called again at
// once. Do not use in, or the reader that Hijack has returned, after that. Flush Hijack's
// writer before the handler returns. Any task of the loop may write to the connection at any
// time; the bytes of two Writes are never interleaved. For an idle time-out set its read
// deadline: when it passes, serve is called and its Read fails.
//
// An error closes the connection, and goes to ErrorLog, as a panic does with its stack; io.EOF
// and net.ErrClosed just close it. serve's ctx is good for one call, and owns the tasks that
// the call starts with it. The connection still belongs to the Server: Stats counts it,
// Shutdown closes it when it is idle, and cancels a call when its time is over. ConnState is
// not called any more.
//
// Where net/http carries the connection, the handler's task calls serve again and again, so an
// idle connection costs a task there, and Shutdown gives it the Grace of the Server.
//
// The error says that the handler has not taken the connection over, or has called Session
// before; it panics if serve is nil. It never suspends.
func Session(ctx context.Context, serve func(ctx context.Context, in *bufio.Reader) error) error {
	if serve == nil {
		panic("rondo: httptask.Session with a nil function")
	}
	if o, ok := ctx.Value(ownerKey{}).(owner); ok {
		return o.hold(serve)
	}
	return errors.New("httptask: Session: this ctx is not that of a handler's request")
}

// ownerKey is the key by which the context of a request has its owner.
type ownerKey struct{}

// An owner has the connection of a request.
type owner interface {
	hold(serve session) error
}

// A session serves a connection whenever something has come.
type session func(ctx context.Context, in *bufio.Reader) error

var (
	errNotTaken = errors.New("httptask: Session before Hijack")
	errHeld     = errors.New("httptask: Session is called a second time")
)

func (n *connection) hold(serve session) error {
	switch {
	case n.session != nil:
		return errHeld
	case !n.taken || n.reply.Load() == nil:
		return errNotTaken
	}
	n.session = serve
	return nil
}

// resume is called when something has come.
func (n *connection) resume(ctx context.Context) error {
	x := newScratch(n)
	defer x.release()
	return n.converse(ctx, x.in)
}

// converse calls the session until what has come is used up.
func (n *connection) converse(ctx context.Context, in *bufio.Reader) error {
	call := func(ctx context.Context) error {
		g := ctx.(*rondo.Scope)
		n.engine.take(g, true)
		defer n.engine.take(g, false)
		return n.session(ctx, in)
	}
	for {
		if err := callSession(ctx, call); err != nil {
			return err
		}
		if in.Buffered() == 0 {
			return nil
		}
	}
}

// callSession calls a session once, by call. The error is io.EOF if the connection has ended well,
// or with the Server.
func callSession(ctx context.Context, call func(ctx context.Context) error) error {
	err := rondo.Contain(ctx, call)
	if err != nil && (errtree.Is(err, net.ErrClosed) || onlyTimeOver(err)) {
		return io.EOF
	}
	return err
}

// onlyTimeOver reports whether err, of a handler that has taken its connection over or of a call of
// a session, says only that its time after a Shutdown was over.
func onlyTimeOver(err error) bool {
	return errtree.Is(err, http.ErrServerClosed) && errtree.Only(err, func(err error) bool {
		return errtree.Same(err, http.ErrServerClosed) || errtree.Same(err, io.EOF)
	}, isPanic)
}

// hold is for a connection that net/http carries.
func (x *exchange) hold(serve session) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.session != nil:
		return errHeld
	case x.taken == nil || x.over:
		return errNotTaken
	}
	x.session = serve
	return nil
}

// held returns the session, or nil.
func (x *exchange) held() session {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.session
}

// converse is called when the handler has returned.
func (x *exchange) converse(ctx context.Context) {
	serve := x.held()
	call := func(ctx context.Context) error { return serve(ctx, x.reader) }
	for serve != nil {
		if err := callSession(ctx, call); err != nil {
			if err != io.EOF && !onlyCancelled(ctx, err) {
				x.handler.complain(x.request, err)
			}
			return
		}
	}
}

// closeHeld is called, deferred, when the task ends.
func (x *exchange) closeHeld() {
	if x.held() != nil {
		_ = x.taken.Close()
	}
}
