package socket

// This file has the sessions of a Server: connections that have a task only
// while there is something to do.
//
// The law: a session is in one place. It is queued, or a task serves it, or it
// is idle: then its connection calls Ready as soon as a Read would not wait.
// Tasks take sessions from the queue one after the other. The one that takes a
// session starts another task if more are queued, because the call may wait.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"runtime/debug"
	"slices"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// A watchable is a connection that needs no task to find out that there is
// something to read.
type watchable interface {
	net.Conn

	// watchInput is fd.FD.WatchInput, but it may suspend the task.
	watchInput(w fd.Watcher) (ready bool)
}

// A session is one connection of a Server with a Session.
type session struct {
	conn  watchable
	owner *sessions
	call  func(ctx context.Context) error // nil until Session was called
	next  *session                        // in the queue
	name  string                          // of the task that serves it
	place int32                           // in owner.conns
	is    sessionState
}

// sessionState is a set of facts about a session.
type sessionState uint8

const (
	sessionQueued   sessionState = 1 << iota // it is in the queue
	sessionServed                            // a task serves it
	sessionWatching                          // Ready will be called
	sessionSure                              // a Read would not wait
	sessionOver                              // it ends when the task leaves it
	sessionClosed                            // it is closed
	sessionRemoved                           // it is no longer in owner.conns
)

func (e *session) has(s sessionState) bool { return e.is&s != 0 }

// sessions has the connections of one call of Serve. It belongs to the loop.
type sessions struct {
	server  *Server
	loop    kernel.Loop
	scope   *rondo.Scope // owns the tasks
	conns   []*session
	idle    int // how many of them are idle
	ending  bool
	changed kernel.WaitList // where the task waits that stands for the idle ones

	first, last *session // the queue
	started     bool     // a task is about to take the first
	run         func(ctx context.Context) error
}

// newSessions starts the task that stands for the idle sessions.
func newSessions(s *Server, g *rondo.Scope) *sessions {
	b := &sessions{server: s, loop: s.loop, scope: g, changed: s.loop.WaitList()}
	b.run = b.work
	t := g.Go(b.keep)
	t.SetName("sessions")
	b.loop.SetEntry(t, reflect.ValueOf(s.Session).Pointer())
	return b
}

// keep waits until the last session has ended. If the scope is cancelled, it
// ends them.
func (b *sessions) keep(ctx context.Context) error {
	for !b.ending || len(b.conns) > 0 {
		if b.changed.Park(ctx, kernel.Reason{What: "idle sessions", On: uint64(b.idle)}) == nil {
			continue
		}
		b.end()
		for e := b.take(); e != nil; e = b.take() {
			b.serve(ctx, e)
		}
		_ = rondo.Shield(ctx, func(ctx context.Context) error {
			for len(b.conns) > 0 {
				_ = b.changed.Park(ctx, kernel.Reason{What: "connections"})
			}
			return nil
		})
	}
	return nil
}

// add takes a connection.
func (b *sessions) add(c net.Conn) {
	w, ok := c.(watchable)
	if t, tls := c.(*TLSConn); tls {
		_, ok = t.conn.(watchable)
	}
	if !ok {
		defer func() { // also if OnError panics
			_ = c.Close()
			if p := b.server.part; p != nil {
				p.gone()
			}
		}()
		b.server.report(c, fmt.Errorf("rondo: socket.Server: a Session cannot wait for input of a %T: "+
			"use a Handler, or for TLS NewTLSListener: %w", c, errors.ErrUnsupported))
		return
	}
	e := &session{conn: w, owner: b, place: int32(len(b.conns))}
	b.conns = append(b.conns, e)
	b.server.count.Add(1)
	b.enqueue(e)
}

// end closes the idle sessions. The others are closed when they become idle.
func (b *sessions) end() {
	if b.ending {
		return
	}
	b.ending = true
	for _, e := range b.conns {
		if e.is == sessionWatching {
			b.enqueue(e)
		}
	}
	b.changed.Wake()
}

// Ready is called when a Read of the connection would not wait.
func (e *session) Ready() {
	b := e.owner
	e.is &^= sessionWatching
	switch {
	case e.has(sessionClosed):
		b.remove(e)
	case !e.has(sessionQueued | sessionServed):
		b.countIdle(-1)
		b.enqueue(e)
	}
}

func (b *sessions) countIdle(n int) {
	b.idle += n
	b.changed.SetOn(uint64(b.idle))
}

// enqueue puts e at the end of the queue.
func (b *sessions) enqueue(e *session) {
	e.is |= sessionQueued
	if b.last == nil {
		b.first = e
	} else {
		b.last.next = e
	}
	b.last = e
	b.start()
}

// take takes the first session off the queue.
func (b *sessions) take() *session {
	e := b.first
	if e == nil {
		return nil
	}
	b.first, e.next = e.next, nil
	if b.first == nil {
		b.last = nil
	}
	e.is &^= sessionQueued
	return e
}

// start starts a task if there is something for it to do.
func (b *sessions) start() {
	if b.first != nil && !b.started {
		b.started = true
		b.scope.Go(b.run)
	}
}

// work is the function of a task: it serves sessions until none is queued, or
// until a call has left something in the task.
func (b *sessions) work(ctx context.Context) error {
	b.started = false
	// A call may end the task.
	defer b.start()
	me, task := b.loop.Task(), rondo.Current(ctx)
	for e := b.take(); e != nil; e = b.take() {
		b.start()
		if e.name == "" {
			e.name = taskName(e.conn)
		}
		b.loop.SetName(task, &e.name)
		if e.call != nil {
			b.loop.SetEntry(task, reflect.ValueOf(e.call).Pointer())
		}
		b.serve(ctx, e)
		if !me.Reusable() {
			break
		}
	}
	return nil
}

// serve does what there is to do for e, once.
func (b *sessions) serve(ctx context.Context, e *session) {
	e.is |= sessionServed | sessionOver
	defer e.leave()
	if e.has(sessionWatching) || b.scope.Err() != nil {
		return // it was idle when accepting ended, or all is cancelled
	}
	switch err := e.step(ctx); {
	case err == io.EOF:
	case err != nil:
		e.failed(err)
	default:
		e.rest()
	}
}

// step calls what is next to be called.
func (e *session) step(ctx context.Context) error {
	if e.call == nil {
		if e.call = e.owner.server.Session(e.conn); e.call == nil {
			return io.EOF
		}
		return nil
	}
	if c, ok := e.conn.(*TLSConn); ok && !e.has(sessionSure) {
		// What has come may be part of a record. Whether there is something to
		// read is found out by rest.
		if c.ready.Load() {
			return nil
		}
		return rondo.Timeout(ctx, handshakeTimeout, func(context.Context) error { return c.Handshake() })
	}
	e.is &^= sessionSure
	return e.call(ctx)
}

// rest makes e idle. If there is something to read it is put into the queue.
func (e *session) rest() {
	b := e.owner
	e.is |= sessionWatching
	if e.conn.watchInput(e) {
		e.is = e.is&^sessionWatching | sessionSure
	}
	switch {
	case !e.has(sessionWatching):
		b.enqueue(e)
	case b.ending:
		return // it is over
	default:
		b.countIdle(1)
	}
	e.is &^= sessionOver
}

// leave ends the work of a task for e. If e is over it is closed. If the Runner
// has Recover set, leave turns a panic of the call into an error.
func (e *session) leave() {
	e.is &^= sessionServed
	if !e.has(sessionOver) {
		return
	}
	defer e.close() // also if OnError panics
	if b := e.owner; b.loop.Recovers() {
		if p := recover(); p != nil {
			b.server.report(e.conn, &rondo.PanicError{Task: e.name, Value: p, Stack: debug.Stack()})
		}
	}
}

// close closes e. Once its descriptor is no longer watched e is removed.
func (e *session) close() {
	e.is |= sessionClosed
	// An error of Close says only that the call has closed it already or that the
	// peer is gone. Neither helps anyone.
	_ = e.conn.Close()
	if !e.has(sessionWatching) && !e.has(sessionRemoved) {
		e.owner.remove(e)
	}
}

// failed is called with the error of a call.
func (e *session) failed(err error) {
	if b := e.owner; !cutOff(b.scope, err) {
		b.server.report(e.conn, err)
	}
}

// remove takes e, which is closed, off the books.
func (b *sessions) remove(e *session) {
	e.is |= sessionRemoved
	last := len(b.conns) - 1
	b.conns[e.place] = b.conns[last]
	b.conns[e.place].place = e.place
	b.conns[last] = nil
	b.conns = b.conns[:last]
	b.server.uncount()
	if last == 0 {
		b.conns = nil
		b.changed.Wake()
	}
}

// closeAll closes the connections, also those that are in a call.
func (b *sessions) closeAll() {
	for _, e := range slices.Clone(b.conns) { // the end of one may remove it at once
		forceClose(e.conn)
	}
}

// forceClose ends what waits for c, without waiting itself.
func forceClose(c net.Conn) {
	if c, ok := c.(*Conn); ok {
		_ = c.Close()
		return
	}
	// Closing a tls.Conn writes, and this must not wait.
	_ = c.SetDeadline(past)
}
