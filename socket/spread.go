package socket

// One Server on several loops, for package shard.
//
// The law: one loop is home. The program's Server is bound to that loop and has one
// service there, so Shutdown works as with one loop. On each loop a part serves, which
// is a Server of its own with the same handler. Only the acceptor decides which part
// gets a connection, and a part counts it from that moment until it is closed. So the
// fullest part has at most one connection more than the emptiest, unless connections of
// one part have ended since.

import (
	"context"
	"errors"
	"net"
	"sync/atomic"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/spread"
)

func init() {
	spread.Add((*Server)(nil), func(ctx context.Context, server any, loops spread.Loops, o spread.Options) error {
		return server.(*Server).spread(ctx, loops, o)
	})
}

// A part is what serves on one loop.
type part struct {
	server *Server
	home   *Server
	loops  spread.Loops
	load   atomic.Int64 // connections that it has, those that are on their way included
	feed   feed
	own    *draining // in place of the feed; nil if there is none
	over   bool      // own is to end, or to be none; belongs to the part's loop
}

// end begins the end of the part's own listener. A task that does not accept, because there is no
// room or no descriptor, closes it at once.
func (p *part) end() {
	p.over = true
	if p.own == nil {
		return
	}
	if !p.own.accepting {
		p.server.markEnding()
	}
	_ = p.own.Close()
	p.server.room.WakeAll()
}

// gone is called when a connection of the part has been closed.
func (p *part) gone() {
	p.load.Add(-1)
	if p.home.MaxConns > 0 {
		p.loops.Send(p.loops.Home, func() { p.home.room.WakeAll() }, nil)
	}
}

// spread serves as Serve does.
func (s *Server) spread(ctx context.Context, loops spread.Loops, o spread.Options) error {
	s.mustServe()
	loop, err := loopOf(ctx, "Server.Serve")
	if err != nil {
		return err
	}
	if _, err := adoptListener(loop, "Server.Serve", o.Listener); err != nil {
		return err
	}
	if err := s.bindLoop(ctx, loop); err != nil {
		return err
	}
	parts := make([]*part, loops.N)
	for i := range parts {
		p := &part{server: &Server{Handler: s.Handler, Session: s.Session, OnError: s.OnError, Limits: s.Limits, HalfClose: s.HalfClose, hooks: s.hooks}, home: s, loops: loops}
		p.server.part, p.feed.part = p, p
		parts[i] = p
	}
	s.mu.Lock()
	if s.parts != nil {
		s.mu.Unlock()
		return errors.New("rondo: shard.Serve: the Server serves already")
	}
	s.parts = parts
	s.mu.Unlock()
	v := new(service)
	err = s.spreadGroup(ctx, v, parts, loops, o)
	s.mu.Lock()
	for _, p := range parts {
		s.counts.take(&p.server.counts)
	}
	s.parts = nil
	s.mu.Unlock()
	s.removeService(v)
	if s.ended() && (err == nil || errtree.Is(err, net.ErrClosed)) {
		return ErrServerClosed
	}
	return err
}

// spreadGroup serves by all parts, in a scope for v.
func (s *Server) spreadGroup(ctx context.Context, v *service, parts []*part, loops spread.Loops, o spread.Options) error {
	defer func() { // also after a Goexit
		for i, p := range parts { // what came for a part that never began
			loops.Send(i, func() { _ = p.feed.Close() }, nil)
		}
	}()
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		v.scope = g
		s.serving = append(s.serving, v)
		if o.Listen != nil {
			return s.spreadOwn(g, v, loops, o)
		}
		return s.spreadFrom(g, v, loops, o)
	})
}

// spreadFrom has each part serve what the calling task accepts.
func (s *Server) spreadFrom(g *rondo.Scope, v *service, loops spread.Loops, o spread.Options) error {
	l := o.Listener.(*Listener)
	d := &draining{Listener: l, ended: func() {}}
	v.listener = d
	defer l.Close()
	for i, p := range s.parts {
		p.feed.from = l
		g.Go(func(ctx context.Context) error {
			return loops.Call(ctx, i, func(ctx context.Context) error { return p.serve(ctx, i, o, p.feed.begin(ctx)) })
		}).SetName("serve")
	}
	err := s.distribute(g, d, loops)
	for i, p := range s.parts {
		loops.Send(i, p.feed.finish, nil)
	}
	return err
}

// distribute accepts connections, and hands each to the part that has the fewest.
func (s *Server) distribute(g *rondo.Scope, d *draining, loops spread.Loops) error {
	var delay backOff
	next := 0
	for {
		for s.MaxConns > 0 && s.load() >= s.MaxConns {
			if s.ended() { // idle sessions leave no room before they are told
				return nil
			}
			if err := s.room.Park(g, rondo.Reason{What: "room"}); err != nil {
				return err
			}
		}
		a, err := d.acceptAny()
		if err == nil {
			delay = 0
			next = s.least(next)
			p := s.parts[next]
			p.load.Add(1)
			loops.Send(next, func() { p.feed.put(a) }, a.close)
			continue
		}
		if s.ended() && errtree.Is(err, net.ErrClosed) {
			return nil
		}
		if g.Err() != nil {
			return context.Cause(g)
		}
		if !temporary(err) {
			return err
		}
		if err := delay.after(g, d, err, func(err error) { s.report(nil, err) }); err != nil {
			return err
		}
	}
}

// load returns how many connections the parts have.
func (s *Server) load() int {
	n := int64(0)
	for _, p := range s.parts {
		n += p.load.Load()
	}
	return int(n)
}

// least returns the part with the fewest connections; of equals the next one after
// the last.
func (s *Server) least(last int) int {
	best, load := -1, int64(0)
	for i := range s.parts {
		at := (last + 1 + i) % len(s.parts)
		if n := s.parts[at].load.Load(); best < 0 || n < load {
			best, load = at, n
		}
	}
	return best
}

// spreadOwn has each part serve a listener of its own.
func (s *Server) spreadOwn(g *rondo.Scope, v *service, loops spread.Loops, o spread.Options) error {
	v.listener = &ownListeners{s, loops}
	for i, p := range s.parts {
		if s.MaxConns > 0 {
			p.server.MaxConns = shareOf(s.MaxConns, i, len(s.parts))
		}
		g.Go(func(ctx context.Context) error {
			return loops.Call(ctx, i, func(ctx context.Context) error {
				if p.over { // Shutdown came first
					return nil
				}
				l, err := o.Listen(ctx)
				if err != nil {
					return err
				}
				if p.over {
					return l.Close()
				}
				p.own = &draining{Listener: l.(*Listener), ended: p.server.markEnding}
				return p.serve(ctx, i, o, p.own)
			})
		}).SetName("serve")
	}
	return nil
}

// shareOf returns what part i gets of a limit for n parts: at least 1, or it would serve
// nobody.
func shareOf(limit, i, n int) int {
	share := limit / n
	if i < limit%n {
		share++
	}
	return max(share, 1)
}

// ownListeners ends the listeners of all parts.
type ownListeners struct {
	server *Server
	loops  spread.Loops
}

// Close begins the end of all listeners.
func (o *ownListeners) Close() error {
	for i, p := range o.server.parts {
		o.loops.Send(i, p.end, nil)
	}
	return nil
}

func (o *ownListeners) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (o *ownListeners) Addr() net.Addr            { return nil }

// serve serves l on the part's loop, which has number i, until l is closed and the last
// connection has ended.
func (p *part) serve(ctx context.Context, i int, o spread.Options, l net.Listener) error {
	if o.Part != nil {
		o.Part(i, p.server)
	}
	if o.Wrap != nil {
		l = o.Wrap(ctx, l)
	}
	if o.TLS != nil {
		l = NewTLSListener(ctx, l, o.TLS)
	}
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		// After a Shutdown that gave up waiting the connections are closed too.
		cut := g.Go(func(ctx context.Context) error {
			err := rondo.WaitCanceled(ctx)
			if errtree.Is(err, p.home.closed()) {
				p.server.cancelConns()
			}
			return err
		})
		cut.SetName("shutdown")
		err := p.server.Serve(g, l)
		cut.Cancel(nil)
		if err == ErrServerClosed {
			return nil
		}
		return err
	})
}

// markEnding says that the listener has ended in order: the connections go on.
func (s *Server) markEnding() {
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
}

// A feed is the listener of a part: its connections were accepted on another loop.
// All of it belongs to the part's loop.
type feed struct {
	from  *Listener
	loop  kernel.Loop // nil before the part serves
	come  []accepted
	over  bool // no more will come
	ended bool // the part takes none
	list  kernel.WaitList
	part  *part
}

// begin makes the feed ready to be served from.
func (f *feed) begin(ctx context.Context) net.Listener {
	f.loop = kernel.Of(ctx)
	f.list = f.loop.WaitList()
	return f
}

// put is called with a connection for the part.
func (f *feed) put(a accepted) {
	if f.ended {
		a.close()
		f.part.gone()
		return
	}
	f.come = append(f.come, a)
	f.wake()
}

// finish is called when no more will come.
func (f *feed) finish() {
	f.over = true
	f.wake()
}

func (f *feed) wake() {
	if f.list != nil {
		f.list.Wake()
	}
}

// Accept waits for the next connection. It suspends the task.
func (f *feed) Accept() (net.Conn, error) { return f.accept(use{}) }

func (f *feed) accept(use use) (net.Conn, error) {
	t := fd.TaskOf(f.loop, "Accept")
	if t == nil {
		return nil, f.from.fail("accept", errNotOnLoop)
	}
	t.Spend(0) // before it takes one, which nobody would close if a callback's Goexit unwinds t here
	for len(f.come) == 0 {
		if f.over || f.ended {
			f.part.server.markEnding()
			return nil, f.from.fail("accept", net.ErrClosed)
		}
		f.loop.AddWakers(1)
		err := f.list.ParkTask(t, kernel.Reason{What: "accept"})
		f.loop.AddWakers(-1)
		if err != nil {
			return nil, f.from.fail("accept", err)
		}
	}
	a := f.come[0]
	f.come[0] = accepted{}
	f.come = f.come[1:]
	return f.from.open(f.loop, a, use), nil
}

// Close drops what has come and was not accepted, and all that comes from now on.
func (f *feed) Close() error {
	f.ended = true
	for _, a := range f.come {
		a.close()
		f.part.gone()
	}
	f.come = nil
	f.wake()
	return nil
}

// Addr returns the address of the listener that accepts.
func (f *feed) Addr() net.Addr { return f.from.Addr() }
