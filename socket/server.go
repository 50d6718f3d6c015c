package socket

// This file has Server: a task for each connection, and an orderly end.
//
// All of a Server belongs to the loop it serves on, save what mu guards and the
// count of connections. The tasks of the connections are owned by the call of
// Serve that accepted them: it returns when the last of them has ended.

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
)

// ErrServerClosed is what Serve returns after Shutdown. It is the cause that the
// handlers see which Shutdown cuts off.
var ErrServerClosed = errors.New("rondo: server closed")

// A Server runs a handler for each connection, in a task of its own. Handler
// must be set; the fields must not change once Serve was called.
type Server struct {
	// Handler serves one connection, which is closed when it returns. ctx is the
	// task's; it is cancelled when the Server is cut off. An error that Handler
	// returns goes to OnError and ends nothing else. A panic ends the loop, unless
	// the Runner's Recover makes it such an error, a *rondo.PanicError.
	Handler func(ctx context.Context, c net.Conn) error

	// MaxConns is how many connections are served at once; the others wait in
	// the system's queue. 0 means as many as come.
	MaxConns int

	// OnError is told of an error of a handler; and, with a nil Conn, of an error
	// of Accept after which the Server goes on, as syscall.EMFILE. It is called in
	// the task that failed. nil means slog at level Error.
	OnError func(c net.Conn, err error)

	mu     sync.Mutex
	loop   kernel.Loop             // where it serves; nil before Serve
	done   *rondo.Future[struct{}] // set when it ends and no Serve is left
	ending bool                    // Shutdown was called

	serving []*service
	room    rondo.WaitList // accepting tasks that wait below MaxConns
	count   atomic.Int64   // connections
}

// A service is one call of Serve.
type service struct {
	listener net.Listener
	scope    *rondo.Scope // owns the tasks of the connections
	conns    []*served
	entry    uintptr // of the handler, which the tasks are said to run
}

// served is a connection with a handler.
type served struct {
	net.Conn
	server  *Server
	service *service
	place   int // in service.conns
}

// Serve is Server.Serve with a Server that has only the handler. It ends when l
// is closed or ctx is cancelled.
func Serve(ctx context.Context, l net.Listener, handler func(ctx context.Context, c net.Conn) error) error {
	return (&Server{Handler: handler}).Serve(ctx, l)
}

// Serve accepts connections from l and serves each in a task, until Shutdown is
// called, ctx is cancelled, or l fails; it has then closed l, and returns when
// the last handler has. It returns ErrServerClosed after Shutdown, the cause if
// ctx was cancelled, and else the error of Accept.
//
// An error of Accept that more descriptors or memory would cure does not end
// Serve: it tries again after 5 ms, and then twice as long each time, up to 1 s.
//
// l may be a *Listener, a *net.TCPListener or *net.UnixListener, or anything
// around a *Listener, as tls.NewListener makes; one that blocks would stop the
// loop. A Server may serve several listeners at once, all on one loop.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if s.Handler == nil {
		panic("rondo: socket.Server.Serve with a nil Handler")
	}
	if l == nil {
		panic("rondo: socket.Server.Serve with a nil Listener")
	}
	loop, err := loopOf(ctx, "Server.Serve")
	if err != nil {
		return err
	}
	if err := rondo.Check(ctx); err != nil {
		return err
	}
	if l, err = adoptListener(loop, "Server.Serve", l); err != nil {
		return err
	}
	if err := s.bindLoop(ctx, loop); err != nil {
		l.Close()
		return err
	}
	v := &service{listener: l, entry: reflect.ValueOf(s.Handler).Pointer()}
	err = rondo.Group(ctx, func(g *rondo.Scope) error {
		v.scope = g
		s.serving = append(s.serving, v)
		// Serve closes l, whoever has closed it before: nobody is to wait in vain
		// while the handlers end.
		defer l.Close()
		return s.accept(g, v)
	})
	s.removeService(v)
	if s.ended() && (err == nil || errors.Is(err, net.ErrClosed)) {
		return ErrServerClosed
	}
	return err
}

// enlist notes the loop that the Server serves on.
func (s *Server) bindLoop(ctx context.Context, loop kernel.Loop) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ending:
		return ErrServerClosed
	case s.loop == nil:
		s.loop, s.done = loop, rondo.NewFuture[struct{}](ctx)
	case s.loop != loop:
		return errors.New("rondo: socket.Server.Serve: the Server serves on another loop")
	}
	return nil
}

func (s *Server) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ending
}

// leave notes that a service has ended.
func (s *Server) removeService(v *service) {
	s.serving = slices.DeleteFunc(s.serving, func(other *service) bool { return other == v })
	if len(s.serving) == 0 && s.ended() {
		s.done.Set(struct{}{})
	}
}

// accept starts a task for each connection.
func (s *Server) accept(g *rondo.Scope, v *service) error {
	var delay backOff
	for {
		if err := s.await(g); err != nil || s.ended() {
			return err
		}
		c, err := v.listener.Accept()
		if err == nil {
			// Another listener's may have come first.
			if err := s.await(g); err != nil {
				_ = c.Close()
				return err
			}
			delay = 0
			s.start(g, v, c)
			continue
		}
		if s.ended() {
			return nil
		}
		if g.Err() != nil {
			return context.Cause(g)
		}
		if !temporary(err) {
			return err
		}
		if err := delay.after(g, v.listener, err, func(err error) { s.report(nil, err) }); err != nil {
			return err
		}
	}
}

// await waits until one more connection may be served.
func (s *Server) await(g *rondo.Scope) error {
	for s.MaxConns > 0 && s.count.Load() >= int64(s.MaxConns) {
		if err := s.room.Park(g, rondo.Reason{What: "room"}); err != nil {
			return err
		}
	}
	return nil
}

// start serves c in a task.
func (s *Server) start(g *rondo.Scope, v *service, c net.Conn) {
	e := &served{c, s, v, len(v.conns)}
	v.conns = append(v.conns, e)
	s.count.Add(1)
	// What lies in this function stays on the stack of a connection that waits: as
	// little as can be.
	t := g.Go(func(ctx context.Context) error {
		defer e.finish()
		if err := e.server.Handler(ctx, e.Conn); err != nil {
			e.failed(err)
		}
		return nil
	})
	t.SetName(taskName(c))
	s.loop.Entry(t, v.entry)
}

func taskName(c net.Conn) string { return "conn " + c.RemoteAddr().String() }

// failed hears that the handler has returned an error.
func (e *served) failed(err error) {
	if !cutOff(e.service.scope, err) {
		e.server.report(e.Conn, err)
	}
}

// cutOff tells whether err says no more than that the scope was cancelled, and
// the connection with it.
func cutOff(g *rondo.Scope, err error) bool {
	return g.Err() != nil &&
		(errors.Is(err, context.Cause(g)) || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded))
}

// finish closes a connection whose handler has ended. If that panicked it is made
// an error here, if the Runner wants it so.
func (e *served) finish() {
	s, v := e.server, e.service
	if s.loop.Recovers() {
		if p := recover(); p != nil {
			s.report(e.Conn, &rondo.PanicError{Task: taskName(e.Conn), Value: p, Stack: debug.Stack()})
		}
	}
	// The handler is through with it; what Close could say, that it has closed
	// it already or that the peer is gone, helps nobody.
	_ = e.Close()
	last := len(v.conns) - 1
	v.conns[e.place] = v.conns[last]
	v.conns[e.place].place = e.place
	v.conns[last] = nil
	v.conns = v.conns[:last]
	s.count.Add(-1)
	s.room.WakeAll()
}

func (s *Server) report(c net.Conn, err error) {
	switch {
	case s.OnError != nil:
		s.OnError(c, err)
	case c == nil:
		slog.Error(err.Error())
	default:
		slog.Error("rondo: serving a connection", "peer", c.RemoteAddr().String(), "err", err)
	}
}

// Conns counts the connections that are being served. Any goroutine may call it.
func (s *Server) Conns() int { return int(s.count.Load()) }

// Shutdown ends the Server: it closes the listeners, and waits until all
// handlers have returned and Serve with them; it returns nil then. If ctx is
// cancelled first, it cuts off what is left, and returns the cause at once: the
// handlers' ctx is cancelled with ErrServerClosed and their connections are
// closed. Serve still waits for the handlers to return.
//
// Handlers that want to end early when they are idle are told by nothing but
// this cut, so ctx should have a deadline. Any goroutine may call Shutdown, also
// more than once; a handler of the Server itself would wait for itself. A Server
// that was shut down cannot serve again.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	loop := s.loop
	s.mu.Unlock()
	if loop != nil && loop.Inside() {
		if err := rondo.Check(ctx); errors.Is(err, rondo.ErrNoLoop) {
			return err
		}
	}
	s.mu.Lock()
	s.ending = true
	loop, done := s.loop, s.done
	s.mu.Unlock()
	if loop == nil {
		return nil
	}
	on(loop, s.stop)
	_, err := done.Wait(ctx)
	if errors.Is(err, rondo.ErrLoopClosed) {
		return nil // all that it served ended with the loop
	}
	if err != nil {
		on(loop, s.cancelConns)
	}
	return err
}

// on runs fn on the loop, now if the caller is there. A loop that has ended has
// nothing left to do it to.
func on(loop kernel.Loop, fn func()) {
	if loop.Inside() {
		fn()
		return
	}
	_ = loop.Post(fn)
}

// stop ends accepting.
func (s *Server) stop() {
	for _, v := range s.serving {
		_ = v.listener.Close()
	}
	if len(s.serving) == 0 {
		s.done.Set(struct{}{})
	}
}

// past is a deadline that ends everything at once.
var past = time.Unix(1, 0)

// cut ends the connections that are left.
func (s *Server) cancelConns() {
	for _, v := range s.serving {
		v.scope.Cancel(ErrServerClosed)
		for _, e := range v.conns {
			if c, ok := e.Conn.(*Conn); ok {
				_ = c.Close()
			} else {
				// To close a tls.Conn is to write, and this must not wait.
				_ = e.SetDeadline(past)
			}
		}
	}
}
