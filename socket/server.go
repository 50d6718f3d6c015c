package socket

// A Server: a task for each connection (served.go), or sessions (session.go).
// shutdown.go ends it.
//
// Everything in a Server belongs to the loop it serves on, except what mu
// guards and the count of connections. The call of Serve that accepted a
// connection owns its task, and returns when the last of its tasks has ended.

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"sync"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/peer"
)

// ErrServerClosed is what Serve returns after Shutdown. It is also the cause of
// a handler's ctx when Shutdown cancels the handler.
var ErrServerClosed = kernel.Closed("rondo: server closed")

// A Server runs a Handler for each connection, in a task of its own, or a
// Session, which has a task only while there is something to do. One of the two
// must be set, and not both. The fields must not change after Serve was called.
type Server struct {
	// Handler serves one connection. Its ctx is a scope of its own, which owns the tasks
	// that are started with it: when Handler has returned, ctx is cancelled, those tasks
	// are waited for, and then the connection is closed. Shutdown cancels ctx when it
	// gives up waiting.
	//
	// The error of Handler goes to OnError, except io.EOF, and so does that of one of those
	// tasks, for which nobody waits: it also cancels ctx. A panic of Handler or of such a task
	// is an error as well, a *rondo.PanicError with its stack. Other connections go on in all
	// these cases. (In a simulation a panic ends the run, unless the Runner has Recover
	// set.) A task that is to outlive the connection is started in a scope that the
	// program holds, a Group around Serve for example.
	//
	// The handshake of a *tls.Conn is done before Handler is called; its error goes to
	// OnError, and Handler is not called. That of a *TLSConn begins with the first Read
	// or Write of Handler. Both may take 10 s; see Limits.
	Handler func(ctx context.Context, c net.Conn) error

	// Session is called once for each connection, in a task, and returns the
	// function that serves one exchange with the peer. That function is called
	// in a task whenever a Read of c would not wait: data has come, the peer has
	// ended its side, or the deadline for reading has passed. It is sequential
	// code and may wait like any task. Between the calls the connection has no
	// task and no stack, so an idle one costs about 700 bytes. Calls for one
	// connection never overlap.
	//
	// If the function returns nil, it is called again as soon as a Read would not wait, at once
	// if that is so already. Before it returns nil, it must use up all data that it has buffered
	// itself, because the Server does not know of such data: with a bufio.Reader, it goes on
	// until Buffered returns 0. An error closes the connection and goes to OnError, except
	// io.EOF, which just closes it. A panic is handled like one of Handler.
	//
	// ctx is good for one call, and owns the tasks that the call starts with it, as
	// that of Handler does: they end with the call. It is cancelled when Serve's ctx is,
	// or when Shutdown gives up waiting. An idle connection is then closed without a
	// call. For an idle time-out, set the deadline for reading before the
	// function returns: the call that follows finds that its Read fails.
	//
	// A Session that returns nil refuses the connection. c is a *Conn, a
	// *TLSConn of NewTLSListener, or an end of a Pipe; any other kind needs a
	// Handler. The handshake of a *TLSConn is done before the first exchange, in
	// 10 s at most; see Limits.
	Session func(c net.Conn) func(ctx context.Context) error

	// MaxConns is how many connections are served at once. The others wait in
	// the system's queue. 0 means no limit; Serve panics if it is negative.
	MaxConns int

	// Limits bound the times that a client may take, and how many connections one address may
	// open. A handler or a call is cancelled when its connection passes a limit of time; an idle
	// session is closed without a call. Of these only a TLS handshake that takes too long goes to
	// OnError; Stats counts them all.
	Limits Limits

	// HalfClose lets a peer end its side of a connection while its handler works on. Without it,
	// ErrPeerClosed cancels the ctx of a Handler, or of a call of a Session, once three things
	// are true: the peer has closed or lost the connection, all that it sent has been read, and
	// the function waits for something other than the connection. A function that reads or writes
	// learns it from that call. Set it for a protocol in which a client sends its request, ends
	// its side, and then waits for the answer.
	//
	// It makes no difference on systems without epoll or kqueue, for a connection of
	// package tls, and for one that a goroutine uses: there a function learns that its
	// peer has left when it reads or writes.
	HalfClose bool

	// OnError is called with each error of a handler, and with a nil Conn for
	// an error of Accept after which the Server goes on, such as
	// syscall.EMFILE. It is called in the task that failed. nil means slog at
	// level Error. A panic of OnError goes to the Runner's OnError, with the error that
	// it was called with; the Server goes on.
	OnError func(c net.Conn, err error)

	mu     sync.Mutex
	loop   kernel.Loop             // the loop it serves on; nil before Serve
	done   *rondo.Future[struct{}] // set when it ends and no Serve is left
	ending bool                    // Shutdown was called

	serving []*service
	room    rondo.WaitList     // accepting tasks that wait below MaxConns
	guards  map[any]*guard     // by *served or *session
	counted map[any]netip.Addr // where it has a place, with a limit per address
	counts  counts
	visits  addresses

	hooks *peer.Hooks // in place of Session; nil: none

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

// Serve calls Server.Serve of a Server that has only the handler. It ends when l is closed or ctx
// is cancelled. Errors and panics of the handler are logged.
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
		_ = l.Close()
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
		if len(s.serving) == 0 {
			s.counts.publish(loop, l)
		}
		s.serving = append(s.serving, v)
		// Serve closes l even if someone else has closed it: no client is to
		// wait in vain while the handlers end.
		defer l.Close()
		return s.accept(g, v)
	})
	s.removeService(v)
	if s.ended() && (err == nil || errtree.Is(err, net.ErrClosed)) {
		return ErrServerClosed
	}
	return err
}

// mustServe panics unless one of Handler and Session is set, and the limits are limits.
func (s *Server) mustServe() {
	switch {
	case s.Handler == nil && s.Session == nil:
		panic("rondo: socket.Server.Serve without a Handler: set Handler or Session")
	case s.Handler != nil && s.Session != nil:
		panic("rondo: socket.Server.Serve with a Handler and a Session: set only one of them")
	case s.MaxConns < 0:
		panic("rondo: socket.Server.Serve with a negative MaxConns: 0 means no limit")
	}
	s.Limits.mustHold("socket.Server.Serve")
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
	if len(s.serving) > 0 {
		return
	}
	s.counts.conceal(s.loop)
	if s.ended() {
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
			if err := s.hold(g, c); err != nil {
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
	for s.MaxConns > 0 && s.counts.Open.Load() >= int64(s.MaxConns) {
		if s.part != nil && s.part.over { // idle sessions leave no room before they are told
			s.markEnding()
			return nil
		}
		if err := s.room.Park(g, rondo.Reason{What: "room"}); err != nil {
			return err
		}
	}
	return nil
}

// hold waits as await does, with c at hand: a connection of another listener may have come first.
// If it does not return nil it closes c, also after a Goexit.
func (s *Server) hold(g *rondo.Scope, c net.Conn) error {
	served := false
	defer func() {
		if !served {
			_ = c.Close()
		}
	}()
	err := s.await(g)
	served = err == nil
	return err
}

// start serves c in a task.
func (s *Server) start(g *rondo.Scope, v *service, c net.Conn) {
	addr, refused := s.refuse(c)
	if refused {
		return
	}
	if v.sessions != nil {
		v.sessions.add(c, addr)
		return
	}
	e := &served{Conn: c, server: s, service: v, place: int32(len(v.conns))}
	v.conns = append(v.conns, e)
	s.counts.Open.Add(1)
	// The frame of this function is on the stack of each waiting connection, so
	// it is kept small.
	t := g.Go(func(ctx context.Context) error {
		defer e.finish()
		err := e.handshake()
		if err == nil {
			err = e.server.Handler(ctx, e.Conn)
		}
		e.leave(err)
		return nil
	})
	e.task = t
	s.watchPeer(c, (*servedPeer)(e))
	s.guard(e, c, addr, func(err limitError) bool {
		s.counts.late(err)
		t.Cancel(err)
		return true
	})
	s.loop.SetServing(t)
	if connBelow(c) != nil { // or else RemoteAddr is the program's, and may wait: handshake calls it
		t.SetName(taskName(c))
	}
	s.loop.SetEntry(t, v.entry)
}

// uncount is called when the connection of e is closed.
func (s *Server) uncount(e any) {
	s.counts.Open.Add(-1)
	s.unguard(e)
	s.room.WakeAll()
	if s.part != nil {
		s.part.gone()
	}
}

// report calls OnError, or else the log. A panic of either goes to the Runner's OnError.
func (s *Server) report(c net.Conn, err error) {
	defer contain(s.loop, "OnError of a socket.Server", err)
	if c != nil {
		s.counts.failed(err)
	}
	switch {
	case s.OnError != nil:
		s.OnError(c, err)
	case c == nil:
		logError(nil, err)
	default:
		logError(c.RemoteAddr(), err)
	}
}

// Conns returns the number of connections that are being served, on all loops. Any
// goroutine may call it.
func (s *Server) Conns() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.counts.Open.Load()
	for _, p := range s.parts {
		n += p.server.counts.Open.Load()
	}
	return int(n)
}

// guard begins to watch the times of c, the connection of e, which refuse has counted at addr.
func (s *Server) guard(e any, c net.Conn, addr netip.Addr, expired func(err limitError) bool) {
	if addr.IsValid() {
		if s.counted == nil {
			s.counted = make(map[any]netip.Addr)
		}
		s.counted[e] = addr
	}
	g := &guard{loop: s.loop, limits: &s.Limits, expired: expired}
	if !g.watch(c) || g.begin() == nil {
		return
	}
	if s.guards == nil {
		s.guards = make(map[any]*guard)
	}
	s.guards[e] = g
}

// unguard ends what guard has begun, and frees the place of e at its address.
func (s *Server) unguard(e any) {
	s.guards[e].end()
	delete(s.guards, e)
	if addr, ok := s.counted[e]; ok {
		delete(s.counted, e)
		s.home().visits.leave(&s.Limits, addr)
	}
}

// home returns the Server of the program.
func (s *Server) home() *Server {
	if s.part != nil {
		return s.part.home
	}
	return s
}

// refuse counts c, which was accepted, and closes it if a limit of its address is reached. addr is
// where it was counted, and is not valid without a limit: the RemoteAddr of a connection of the
// program's may return something else later.
func (s *Server) refuse(c net.Conn) (addr netip.Addr, refused bool) {
	v := welcome
	if l := &s.Limits; l.perAddr() {
		d := s.loop.Driver()
		addr = tcpPeer(c.RemoteAddr()).Addr()
		v = s.home().visits.enter(l, addr, d.Time(d.Now()))
	}
	if !s.counts.refused(v) {
		return addr, false
	}
	if below := connBelow(c); below != nil {
		c = below // the end of TLS would wait for the client
	}
	_ = c.Close()
	if s.part != nil {
		s.part.gone()
	}
	return addr, true
}

// Stats returns the counters of the Server. Any goroutine may call it; it never suspends.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sum Stats
	s.counts.add(&sum)
	for _, p := range s.parts {
		p.server.counts.add(&sum)
	}
	return sum
}
