package socket

// Sessions are connections of a Server that have a task only while there is
// work for one.
//
// The law: a session is in one place. It is queued, or a task serves it, or it
// is idle: then its connection calls Ready as soon as a Read would not wait.
// Tasks take sessions from the queue one after the other. The one that takes a
// session starts another task if more are queued, because the call may wait.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/peer"
	"github.com/rondo-go/rondo/internal/ring"
)

// A session is one connection of a Server with a Session.
type session struct {
	conn  watchable
	owner *sessions
	call  func(ctx context.Context) error // nil until Session was called
	task  *rondo.Task                     // that is in a call; nil: none is
	own   peer.Session                    // what call belongs to; nil: the program's function
	name  string                          // of the task that serves it
	place int32                           // in owner.conns
	is    sessionState
	looks bool // a look at the peer is due
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

	queue   ring.Ring[*session]
	started bool // a task is about to take the first
	run     func(ctx context.Context) error
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

// add takes a connection, which was counted at addr.
func (b *sessions) add(c net.Conn, addr netip.Addr) {
	if h := b.server.hooks; h != nil && h.TLS != nil {
		c = newTLSServer(b.loop, c, h.TLS)
	}
	w, ok := c.(watchable)
	if t, tls := c.(*TLSConn); tls {
		_, ok = t.conn.(watchable)
	}
	if !ok {
		defer func() { // also if OnError panics
			_ = c.Close()
			b.server.home().visits.leave(&b.server.Limits, addr)
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
	b.server.counts.Open.Add(1)
	b.server.watchPeer(w, (*sessionPeer)(e))
	b.server.guard(e, w, addr, e.late)
	b.enqueue(e)
}

// end closes the idle sessions. The others are closed when they become idle.
func (b *sessions) end() {
	if b.ending {
		return
	}
	b.ending = true
	for _, e := range b.conns {
		switch {
		case e.is == sessionWatching:
			b.enqueue(e)
		case e.own != nil:
			e.own.Ends()
		}
	}
	b.changed.Wake()
}

// closeIdle closes the idle sessions that peer.Session does not keep.
func (s *Server) closeIdle() {
	for _, v := range s.serving {
		if v.sessions == nil { // parts of s serve
			continue
		}
		for _, e := range v.sessions.conns {
			if e.is == sessionWatching && e.own != nil && !e.own.Keeps() {
				v.sessions.countIdle(-1)
				v.sessions.enqueue(e) // which closes it
			}
		}
	}
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
	b.queue.Add(e)
	b.start()
}

// take takes the first session off the queue.
func (b *sessions) take() *session {
	if b.queue.Len() == 0 {
		return nil
	}
	e := b.queue.Take()
	b.queue.Release()
	e.is &^= sessionQueued
	return e
}

// start starts a task if there is something for it to do.
func (b *sessions) start() {
	if b.queue.Len() > 0 && !b.started {
		b.started = true
		b.loop.SetServing(b.scope.Go(b.run))
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
	over := e.has(sessionOver|sessionWatching) || b.scope.Err() != nil
	e.is |= sessionServed | sessionOver
	defer e.leave()
	if over {
		return // it was late, or idle when accepting ended or closeIdle came, or all is cancelled
	}
	e.task = rondo.Current(ctx)
	err := e.step(ctx)
	if err == nil && ctx.Err() != nil && b.scope.Err() == nil { // the call has not noticed
		err = context.Cause(ctx)
	}
	e.task = nil       // a limit cannot end the wait for the tasks that the call has started
	if err == io.EOF { // no error for them to be cancelled with
		err = cmp.Or(b.loop.Task().Leave(nil), err)
	} else {
		err = b.loop.Task().Leave(err)
	}
	if c, ok := e.conn.(*TLSConn); ok && err != nil && !c.ready.Load() {
		b.server.counts.Handshakes.Add(1)
	}
	switch {
	case err == io.EOF:
	case err == peer.ErrTaken:
		e.forget()
	case err != nil:
		e.failed(err)
	default:
		e.rest()
	}
}

// step calls what is next to be called.
func (e *session) step(ctx context.Context) error {
	if h := e.owner.server.hooks; e.call == nil && h != nil {
		if e.own = h.Begin(ctx, e.conn); e.own == nil {
			return io.EOF
		}
		e.call = e.own.Serve
		return nil
	}
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
		err := c.Handshake() // its guard has the time
		if err == nil && e.own != nil {
			err = e.own.Secured(ctx)
		}
		return err
	}
	e.is &^= sessionSure
	return e.call(ctx)
}

// rest makes e idle. If there is something to read it is put into the queue.
func (e *session) rest() {
	b := e.owner
	e.is |= sessionWatching
	if b.watchInput(e) {
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

// watchInput is that of e's connection, for a task whose own scope may have been left.
func (b *sessions) watchInput(e *session) (ready bool) {
	if _, plain := e.conn.(*Conn); plain || b.scope.Err() != nil || b.loop.Task().Check() == nil {
		return e.conn.watchInput(e)
	}
	return b.watchShielded(e)
}

// watchShielded is a function of its own because its result is on the heap.
func (b *sessions) watchShielded(e *session) (ready bool) {
	_ = b.loop.Task().Shield(func(context.Context) error { ready = e.conn.watchInput(e); return nil })
	return ready
}

// leave ends the work of a task for e. If e is over it is closed. A panic of the call is its
// error.
func (e *session) leave() {
	e.is &^= sessionServed
	e.task = nil
	if !e.has(sessionOver) {
		return
	}
	defer e.close() // also after a Goexit of OnError
	b := e.owner
	if b.loop.Recovers() {
		if p := recover(); p != nil {
			e.failed(b.loop.Task().Leave(panicError(e.name, p)))
			return
		}
	}
	if err := b.loop.Task().Leave(nil); err != nil { // the call did not return
		e.failed(err)
	}
}

// close closes e. Once its descriptor is no longer watched e is removed.
func (e *session) close() {
	e.is |= sessionClosed
	e.owner.server.closeConn(e.conn, e.owner.scope)
	if !e.has(sessionWatching) && !e.has(sessionRemoved) {
		e.owner.remove(e)
	}
	if e.own != nil {
		e.own.Closed()
	}
}

// failed is called with the error of a call.
func (e *session) failed(err error) {
	if b := e.owner; !cutOff(b.scope, err) {
		b.server.report(e.conn, err)
	}
}

// late is called when e has passed a limit of time. It ends the call of e, or closes it if it
// is idle; it returns false if it is about to be served.
func (e *session) late(err limitError) bool {
	b := e.owner
	switch {
	case e.has(sessionClosed):
	case e.task != nil:
		b.server.counts.late(err)
		e.task.Cancel(err)
	case e.is == sessionWatching:
		b.server.counts.late(err)
		if err == errHandshake {
			b.server.counts.Handshakes.Add(1)
			b.server.report(e.conn, err)
		}
		b.countIdle(-1)
		e.is |= sessionOver // also if something comes before a task takes it
		b.enqueue(e)
	default:
		return false
	}
	return true
}

// remove takes e, which is closed, off the books.
func (b *sessions) remove(e *session) {
	e.is |= sessionRemoved
	last := len(b.conns) - 1
	b.conns[e.place] = b.conns[last]
	b.conns[e.place].place = e.place
	b.conns[last] = nil
	b.conns = b.conns[:last]
	b.server.uncount(e)
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

// forget takes e off the books and leaves its connection open: it belongs to the program,
// which may forget to close it.
func (e *session) forget() {
	if c := connBelow(e.conn); c != nil {
		fd.Guard(c.fd, c)
	}
	e.is = e.is&^sessionOver | sessionClosed
	e.owner.remove(e)
}

// past is a deadline that has always passed.
var past = time.Unix(1, 0)
