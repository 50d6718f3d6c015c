package socket

// This file has Server: a task for each connection, or sessions. shutdown.go ends it.
//
// Everything in a Server belongs to the loop it serves on, except what mu
// guards and the count of connections. The call of Serve that accepted a
// connection owns its task, and returns when the last of its tasks has ended.

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/netip"
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

// ErrServerClosed is what Serve returns after Shutdown. It is also the cause of
// a handler's ctx when Shutdown cancels the handler.
var ErrServerClosed = errors.New("rondo: server closed")

// A Server runs a Handler for each connection, in a task of its own, or a
// Session, which has a task only while there is something to do. One of the two
// must be set, and not both. The fields must not change after Serve was called.
type Server struct {
	// Handler serves one connection, which is closed when Handler returns. ctx
	// is the task's; it is cancelled when Shutdown gives up waiting. An error
	// that Handler returns goes to OnError; other connections go on. A panic
	// ends the loop and with it the program's Run, unless the Runner has
	// Recover set: then it goes to OnError as a *rondo.PanicError.
	//
	// The handshake of a *tls.Conn is done before Handler is called, in 10 s at
	// most. Its error goes to OnError, and Handler is not called.
	Handler func(ctx context.Context, c net.Conn) error

	// Session is called once for each connection, in a task, and returns the
	// function that serves one exchange with the peer. That function is called
	// in a task whenever a Read of c would not wait: data has come, the peer has
	// ended its side, or the deadline for reading has passed. It is sequential
	// code and may wait like any task. Between the calls the connection has no
	// task and no stack, so an idle one costs about 700 bytes. Calls for one
	// connection never overlap.
	//
	// If the function returns nil, it is called again as soon as a Read would
	// not wait, at once if that is so already. It must use up what it has
	// buffered itself before it returns nil: with a bufio.Reader, it goes on
	// until Buffered returns 0, because nobody else knows of data there. An
	// error closes the connection and goes to OnError, except io.EOF, which just
	// closes it. A panic is handled like one of Handler.
	//
	// ctx is good for one call; it is cancelled when Serve's ctx is, or when
	// Shutdown gives up waiting. An idle connection is then closed without a
	// call. For an idle time-out, set the deadline for reading before the
	// function returns: the call that follows finds that its Read fails.
	//
	// A Session that returns nil refuses the connection. c is a *Conn, a
	// *TLSConn of NewTLSListener, or an end of a Pipe; any other kind needs a
	// Handler. The handshake of a *TLSConn is done before the first exchange, in
	// 10 s at most once it has begun.
	Session func(c net.Conn) func(ctx context.Context) error

	// MaxConns is how many connections are served at once. The others wait in
	// the system's queue. 0 means no limit.
	MaxConns int

	// OnError is called with each error of a handler, and with a nil Conn for
	// an error of Accept after which the Server goes on, such as
	// syscall.EMFILE. It is called in the task that failed. nil means slog at
	// level Error.
	OnError func(c net.Conn, err error)

	mu     sync.Mutex
	loop   kernel.Loop             // the loop it serves on; nil before Serve
	done   *rondo.Future[struct{}] // set when it ends and no Serve is left
	ending bool                    // Shutdown was called

	serving []*service
	room    rondo.WaitList // accepting tasks that wait below MaxConns
	count   atomic.Int64   // connections

	parts []*part // if several loops serve; guarded by mu
	part  *part   // the one that this Server is, for a Server of the program's
}

// A service is one call of Serve.
type service struct {
	listener net.Listener
	scope    *rondo.Scope // owns the tasks of the connections
	conns    []*served
	sessions *sessions // nil with a Handler
	entry    uintptr   // of the handler, which inspection shows for the tasks
}

// A served is a connection with a handler.
type served struct {
	net.Conn
	server  *Server
	service *service
	place   int // in service.conns
}

// Serve calls Server.Serve of a Server that has only the handler. It ends when
// l is closed or ctx is cancelled. A panic of the handler ends the loop, unless
// the Runner has Recover set; its errors are logged.
func Serve(ctx context.Context, l net.Listener, handler func(ctx context.Context, c net.Conn) error) error {
	return (&Server{Handler: handler}).Serve(ctx, l)
}

// Serve accepts connections from l and serves each in a task, until Shutdown is
// called, ctx is cancelled, or l fails. It closes l, and returns when the last
// handler has returned. It returns ErrServerClosed after Shutdown, the cause if
// ctx was cancelled, and otherwise the error of Accept. It suspends the task.
//
// After an error of Accept that more descriptors or memory would cure, Serve
// tries again after 5 ms, and then after twice as long each time, up to 1 s.
//
// l may be a *Listener, a *net.TCPListener or *net.UnixListener, or a listener
// that wraps a *Listener, such as that of NewTLSListener. A listener that
// blocks would stop the loop. A Server may serve several listeners at once, all
// on one loop.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	s.mustServe()
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
	v := &service{listener: l}
	err = rondo.Group(ctx, func(g *rondo.Scope) error {
		v.scope = g
		if s.Session != nil {
			v.sessions = newSessions(s, g)
			defer v.sessions.end()
		} else {
			v.entry = reflect.ValueOf(s.Handler).Pointer()
		}
		s.serving = append(s.serving, v)
		// Serve closes l even if someone else has closed it: no client is to
		// wait in vain while the handlers end.
		defer l.Close()
		return s.accept(g, v)
	})
	s.removeService(v)
	if s.ended() && (err == nil || errors.Is(err, net.ErrClosed)) {
		return ErrServerClosed
	}
	return err
}

// mustServe panics unless one of Handler and Session is set.
func (s *Server) mustServe() {
	switch {
	case s.Handler == nil && s.Session == nil:
		panic("rondo: socket.Server.Serve without a Handler: set Handler or Session")
	case s.Handler != nil && s.Session != nil:
		panic("rondo: socket.Server.Serve with a Handler and a Session: set only one of them")
	}
}

// bindLoop stores the loop that the Server serves on.
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

// removeService removes a service that has ended.
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
		c, err := v.next()
		if err == nil {
			// A connection of another listener may have come first.
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

// next accepts a connection. The Server closes it in any case.
func (v *service) next() (net.Conn, error) {
	if l, ok := v.listener.(interface{ accept(use) (net.Conn, error) }); ok {
		return l.accept(use{owned: true, watched: v.sessions != nil})
	}
	return v.listener.Accept()
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
	if v.sessions != nil {
		v.sessions.add(c)
		return
	}
	e := &served{c, s, v, len(v.conns)}
	v.conns = append(v.conns, e)
	s.count.Add(1)
	// The frame of this function is on the stack of each waiting connection, so
	// it is kept small.
	t := g.Go(func(ctx context.Context) error {
		defer e.finish()
		err := e.handshake()
		if err == nil {
			err = e.server.Handler(ctx, e.Conn)
		}
		if err != nil {
			e.failed(err)
		}
		return nil
	})
	t.SetName(taskName(c))
	s.loop.SetEntry(t, v.entry)
}

// handshakeTimeout is how long the handshake of a tls.Conn may take, as in
// net/http.
const handshakeTimeout = 10 * time.Second

// handshake does the handshake of a tls.Conn. Two tasks of a handler would meet
// at its mutex, which stops the loop for as long as the client is silent.
//
//go:noinline
func (e *served) handshake() error {
	c, ok := e.Conn.(*tls.Conn)
	if !ok {
		return nil
	}
	d := e.server.loop.Driver()
	if err := c.SetDeadline(d.Time(d.Now()).Add(handshakeTimeout)); err != nil {
		return err
	}
	if err := c.Handshake(); err != nil {
		return err
	}
	return c.SetDeadline(time.Time{})
}

// taskName returns the name of a task that serves c.
func taskName(c net.Conn) string {
	if a := tcpPeer(c.RemoteAddr()); a.IsValid() {
		var b [64]byte
		a = netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
		return string(a.AppendTo(append(b[:0], "conn "...)))
	}
	return "conn " + c.RemoteAddr().String()
}

// failed is called with the error of the handler.
func (e *served) failed(err error) {
	if !cutOff(e.service.scope, err) {
		e.server.report(e.Conn, err)
	}
}

// cutOff reports whether err says only that the scope was cancelled, or that
// the connection was closed because of that.
func cutOff(g *rondo.Scope, err error) bool {
	return g.Err() != nil &&
		(errors.Is(err, context.Cause(g)) || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded))
}

// finish closes a connection whose handler has ended. If the Runner has Recover
// set, it turns a panic of the handler into an error.
func (e *served) finish() {
	defer e.remove() // also if OnError panics
	if s := e.server; s.loop.Recovers() {
		if p := recover(); p != nil {
			s.report(e.Conn, &rondo.PanicError{Task: taskName(e.Conn), Value: p, Stack: debug.Stack()})
		}
	}
}

// remove closes e, and takes it off the books.
func (e *served) remove() {
	// An error of Close says only that the handler has closed it already or
	// that the peer is gone. Neither helps anyone.
	_ = e.Close()
	v := e.service
	last := len(v.conns) - 1
	v.conns[e.place] = v.conns[last]
	v.conns[e.place].place = e.place
	v.conns[last] = nil
	v.conns = v.conns[:last]
	e.server.uncount()
}

// uncount is called when a connection that was counted is closed.
func (s *Server) uncount() {
	s.count.Add(-1)
	s.room.WakeAll()
	if s.part != nil {
		s.part.gone()
	}
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

// Conns returns the number of connections that are being served, on all loops. Any
// goroutine may call it.
func (s *Server) Conns() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.count.Load()
	for _, p := range s.parts {
		n += p.server.count.Load()
	}
	return int(n)
}
