package socket

// A Transport is a connection that is served by the callbacks of a Protocol.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/nocopy"
)

// A Transport is one connection of a Protocol. Its methods never suspend.
// Callbacks and tasks of the loop may call them, also before Connected and
// after Lost. They panic on any other goroutine.
type Transport struct {
	_ nocopy.Field

	// Value is for the program's own state of the connection. Rondo does not use it.
	Value any

	dispatcher *dispatcher
	backlog    *backlog // what could not be sent yet; nil: nothing
	next       *Transport
	err        error // why it is lost
	peer       peerAddr
	stream     fd.Stream
	place      int32 // in dispatcher.conns
	is         state
}

// state is a set of facts about a Transport.
type state uint32

const (
	connected   state = 1 << iota // Connected was called
	queued                        // it is in the list of the dispatcher
	readable                      // a read may have something
	sendable                      // a write may have room
	unsure                        // a short read may have left something
	readPaused                    // PauseReading was called
	peerEnded                     // the peer has ended its side
	closing                       // Close was called: it ends when all is sent
	writeClosed                   // CloseWrite was called
	shutDown                      // CloseWrite has reached the system
	paused                        // PauseWriting was called, and ResumeWriting was not
	ending                        // Lost will be called
	stopping                      // an operation must end before Lost
	lost                          // Lost was called
	heard                         // bytes were read since activity was called
	spoke                         // bytes were sent since activity was called
	visiting                      // Serve has accepted it, so it counts for its address
	scoped                        // Context was called: it has a scope
	removed                       // its tasks have ended too, and it is closed
	faulty                        // it ends by a fault of the program, not of the network
)

func (t *Transport) has(s state) bool { return t.is&s != 0 }
func (t *Transport) set(s state)      { t.is |= s }
func (t *Transport) clear(s state)    { t.is &^= s }

// activity reports whether bytes were read and sent since it was called last.
func (t *Transport) activity() (read, sent bool) {
	read, sent = t.has(heard), t.has(spoke)
	t.clear(heard | spoke)
	return read, sent
}

// A backlog has what was written and not yet sent.
type backlog struct {
	bytes []byte
	sent  int // how many of them have been sent
}

func (l *backlog) rest() []byte { return l.bytes[l.sent:] }

func (l *backlog) append(b []byte) {
	// Sent bytes are removed once they are more than the rest, so each byte is
	// moved at most once on average.
	if l.sent > len(l.bytes)/2 {
		n := copy(l.bytes, l.rest())
		l.bytes, l.sent = l.bytes[:n], 0
	}
	l.bytes = append(l.bytes, b...)
}

// discardMax is how much input Close drops.
const discardMax = 1 << 20

func mustBeInside(loop kernel.Loop, call string) {
	if !loop.Inside() {
		panic("rondo: socket." + call + " from a goroutine that is not on the loop")
	}
}

func (t *Transport) enter(call string) { mustBeInside(t.dispatcher.loop, "Transport."+call) }

// Context returns a ctx to start tasks with: a scope of this connection, below the ctx of Serve
// or Attach. It is cancelled when Lost has returned, with the error that Lost got, and then its
// tasks are waited for: until they have ended the connection is not closed, and Serve does not
// return. The first of them to fail, or to panic, ends the connection: Lost gets the error,
// unless it was called already, and OnError all that have failed. If another task waits for one
// of them, the error goes to that task instead. Start a task that must outlive the connection in
// a scope of the program.
//
// Each call for one connection returns the same ctx. The first call makes it, so a connection
// that starts no tasks does not pay for it.
func (t *Transport) Context() context.Context {
	t.enter("Context")
	d := t.dispatcher
	if s := d.scopes[t]; s != nil {
		return s.Context()
	}
	s := d.loop.OpenServing(d.ctx, (*tasks)(t))
	if t.has(removed) {
		s.Cancel(t.err)
		_, _ = s.Close() // it has no tasks
		return s.Context()
	}
	if d.scopes == nil {
		d.scopes = make(map[*Transport]kernel.ServingScope)
	}
	d.scopes[t] = s
	t.set(scoped)
	return s.Context()
}

// tasks is a Transport as the owner of its scope.
type tasks Transport

func (s *tasks) Failed(err error) {
	t := (*Transport)(s)
	if !t.has(ending) {
		t.set(faulty)
	}
	t.end(err)
}

func (s *tasks) Emptied() {
	if t := (*Transport)(s); t.has(lost) {
		t.dispatcher.enqueue(t)
	}
}

// only reports whether err, with which tasks of t have failed, says no more than that t is
// over: then Lost was told, unless it was a task that ended t.
func (t *Transport) only(err error) bool {
	return !t.has(faulty) && errtree.Only(err, func(err error) bool {
		return t.err != nil && errtree.Same(err, t.err) || errtree.Same(err, net.ErrClosed)
	}, isPanic)
}

// name returns the name of t in errors.
func (t *Transport) name() string {
	if a := t.RemoteAddr(); a != nil {
		return "conn " + a.String()
	}
	return "conn"
}

// Write sends b, and buffers what the system does not take at once. b may be
// reused when it returns. Stop writing when PauseWriting is called: there is no
// limit to the buffer, except Protocol.Limit.
//
// It takes all of b or nothing. The error is net.ErrClosed after Close, Abort
// or CloseWrite. After the connection was lost, or if this call finds it lost,
// it is the error that Lost gets.
func (t *Transport) Write(b []byte) (int, error) {
	t.enter("Write")
	switch {
	case t.has(ending | lost):
		if t.err != nil {
			return 0, t.err
		}
		return 0, t.fail("write", net.ErrClosed)
	case t.has(closing):
		return 0, t.fail("write", net.ErrClosed)
	case t.has(writeClosed):
		return 0, fmt.Errorf("rondo: socket.Transport.Write after CloseWrite: %w", net.ErrClosed)
	}
	n := 0
	if t.backlog == nil && t.has(sendable) && len(b) > 0 {
		if n = t.send(b); t.has(ending) {
			return 0, t.err
		}
	}
	if n == len(b) {
		return n, nil
	}
	if limit := t.dispatcher.protocol.Limit; limit > 0 && t.Buffered()+len(b)-n > limit {
		t.end(t.fail("write", ErrSlowPeer))
		return 0, t.err
	}
	if t.backlog == nil {
		t.backlog = new(backlog)
	}
	t.backlog.append(b[n:])
	if t.has(sendable) {
		t.dispatcher.enqueue(t)
	}
	if !t.has(paused) && t.Buffered() > t.dispatcher.high {
		t.set(paused)
		if t.dispatcher.protocol.PauseWriting != nil && !t.callPause() {
			return 0, t.err
		}
	}
	return len(b), nil
}

// callPause calls PauseWriting, and reports whether it has returned: the caller may be a
// task, or a callback of another connection, and is not to blame for a panic.
func (t *Transport) callPause() (returned bool) {
	defer func() {
		if !returned && t.dispatcher.loop.Recovers() {
			if p := recover(); p != nil {
				t.dispatcher.failed(t, p)
			}
		}
	}()
	t.dispatcher.protocol.PauseWriting(t)
	return true
}

// send sends what the system takes of b. If that is nothing it asks for a
// report of room. An error ends the connection.
func (t *Transport) send(b []byte) int {
	n, err := t.stream.Send(b)
	if err == fd.ErrAgain {
		t.clear(sendable)
		err = t.stream.Arm(t.dispatcher.loop, driver.Writable, (*sink)(t))
	}
	if err != nil {
		t.end(t.fail("write", err))
	}
	if n > 0 {
		t.set(spoke)
	}
	return n
}

// flush sends from the backlog, once.
func (t *Transport) flush() {
	if t.backlog == nil || !t.has(sendable) || t.has(ending) {
		return
	}
	n := t.send(t.backlog.rest())
	t.dispatcher.moved += n
	t.backlog.sent += n
	if len(t.backlog.rest()) == 0 {
		t.backlog = nil
	}
	if t.has(paused) && !t.has(closing|writeClosed|ending) && t.Buffered() <= t.dispatcher.low {
		t.clear(paused)
		if fn := t.dispatcher.protocol.ResumeWriting; fn != nil {
			fn(t)
		}
	}
}

// reads reports whether t is to be read.
func (t *Transport) reads() bool { return !t.has(readPaused | peerEnded | closing | ending) }

// read reads once.
func (t *Transport) read() {
	b := t.dispatcher
	n, err := t.stream.Receive(b.buffer[:])
	switch {
	case err == nil:
		// A short read has emptied the socket: epoll(7). That does not hold if
		// the end of the stream may have been reported already, or if reads end
		// before the data does.
		if n < readMax && !t.has(unsure) {
			t.await()
		}
		b.moved += n
		t.set(heard)
		if fn := b.protocol.Data; fn != nil {
			fn(t, b.buffer[:n:n])
		}
	case err == fd.ErrAgain:
		t.await()
	case errors.Is(err, io.EOF):
		t.set(peerEnded)
		if fn := b.protocol.EOF; fn == nil || !fn(t) {
			t.set(closing)
		}
	default:
		t.end(t.fail("read", err))
	}
}

// await asks the driver to report the next time that there is something to
// read.
func (t *Transport) await() {
	t.clear(readable)
	if err := t.stream.Arm(t.dispatcher.loop, driver.Readable, (*sink)(t)); err != nil {
		t.end(t.fail("read", err))
	}
}

// afterFlush does what waits until everything is sent.
func (t *Transport) afterFlush() {
	if t.backlog != nil || t.stream.Sending() || t.has(ending) {
		return
	}
	if t.has(writeClosed) && !t.has(shutDown|closing) {
		t.set(shutDown)
		if err := t.stream.CloseWrite(); err != nil {
			t.end(t.fail("close", err))
			return
		}
	}
	if t.has(closing) {
		if !t.has(peerEnded) {
			// The system would reset a connection with unread input.
			t.dispatcher.moved += t.stream.Discard(t.dispatcher.buffer[:], discardMax)
		}
		t.end(nil)
	} else if t.has(shutDown) && t.has(peerEnded) {
		t.end(nil)
	}
}

// pending reports whether a visit has something to do.
func (t *Transport) pending() bool {
	if t.has(ending) {
		return !t.has(lost | stopping)
	}
	return t.backlog != nil && t.has(sendable) || t.has(readable) && t.reads()
}

// end ends the connection. The first error given counts.
func (t *Transport) end(err error) {
	if t.has(ending) {
		return
	}
	t.set(ending)
	t.err = err
	t.dispatcher.enqueue(t)
}

// CloseWrite ends the sending side when what is buffered has been sent: the peer
// reads the end of the stream. Reading goes on, and the connection ends when the
// peer has ended its side too. It does nothing after Close, Abort or CloseWrite.
func (t *Transport) CloseWrite() {
	t.enter("CloseWrite")
	if !t.has(writeClosed | closing | ending) {
		t.set(writeClosed)
		t.dispatcher.enqueue(t)
	}
}

// Close stops reading, sends what is buffered, and then closes the connection.
// Lost is called with nil, or with the error that prevented the sending. A peer
// that does not read can delay that for ever; Abort ends it. A second call does
// nothing.
//
// Input that has arrived by then is dropped, up to 1 MiB. If there is more, or if
// the peer goes on sending, the system resets the connection, and the peer may
// lose what it has not read yet. With a peer that may be sending, use CloseWrite
// and wait for EOF, with Abort after a time.
func (t *Transport) Close() {
	t.enter("Close")
	t.close()
}

func (t *Transport) close() {
	if !t.has(closing | ending) {
		t.set(closing)
		t.dispatcher.enqueue(t)
	}
}

// Abort closes the connection, and drops what is buffered. Lost is called in
// the next turn, with nil.
func (t *Transport) Abort() {
	t.enter("Abort")
	t.end(nil)
}

// PauseReading stops reading: until ResumeReading there is no Data, no EOF, and
// no error of a read. What arrives stays in the system's buffer; when that is
// full, the peer must wait. A second call does nothing.
func (t *Transport) PauseReading() {
	t.enter("PauseReading")
	t.set(readPaused)
}

// ResumeReading undoes PauseReading.
func (t *Transport) ResumeReading() {
	t.enter("ResumeReading")
	t.clear(readPaused)
	if t.pending() {
		t.dispatcher.enqueue(t)
	}
}

// Buffered returns how many bytes were written and are not sent yet.
func (t *Transport) Buffered() int {
	if t.backlog == nil {
		return 0
	}
	return len(t.backlog.rest())
}

// LocalAddr returns the address of this end, nil once the connection is closed.
func (t *Transport) LocalAddr() net.Addr {
	t.enter("LocalAddr")
	local, _ := t.addrs()
	return local
}

// RemoteAddr returns the address of the peer. For a Unix socket it is nil once
// the connection is closed.
func (t *Transport) RemoteAddr() net.Addr {
	t.enter("RemoteAddr")
	if t.peer.IsValid() {
		return net.TCPAddrFromAddrPort(t.peer)
	}
	_, remote := t.addrs()
	return remote
}

// SyscallConn returns access to the descriptor, by Control. Its Read and Write
// would wait, and fail with errors.ErrUnsupported. Control fails once
// the connection is closed.
func (t *Transport) SyscallConn() (syscall.RawConn, error) { return rawTransport{t}, nil }

type rawTransport struct{ t *Transport }

func (r rawTransport) Control(op func(sys uintptr)) error {
	r.t.enter("SyscallConn")
	return r.t.fail("raw-control", r.t.stream.Control(op))
}

func (rawTransport) Read(func(sys uintptr) bool) error  { return errors.ErrUnsupported }
func (rawTransport) Write(func(sys uintptr) bool) error { return errors.ErrUnsupported }

// fail returns err as package net would.
func (t *Transport) fail(op string, err error) error {
	if err == nil || namesOperation(err) {
		return err
	}
	local, remote := t.dispatcher.local, net.Addr(net.TCPAddrFromAddrPort(t.peer))
	if local == nil || !t.peer.IsValid() {
		local, remote = t.addrs()
	}
	network := "tcp"
	if local != nil {
		network = local.Network()
	}
	return &net.OpError{Op: op, Net: network, Source: local, Addr: remote, Err: err}
}
