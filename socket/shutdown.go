package socket

// The end of a Server.
//
// The law: Shutdown first closes the listeners, so nothing new begins, and waits. It
// cancels what still runs only when its own ctx ends.

import (
	"context"
	"slices"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/kernel"
)

// Shutdown ends the Server gracefully: it closes the listeners, waits until all
// handlers and all calls of Serve have returned, and returns nil. If ctx is
// cancelled first, it cancels the remaining handlers and returns the cause at
// once: the handlers' ctx is cancelled with ErrServerClosed and their
// connections are closed. Serve still waits for the handlers to return.
//
// Idle handlers do not notice a Shutdown before that, so ctx should have a deadline. Sessions do:
// those that are idle are closed at once, and the others when they become idle. Any goroutine may
// call Shutdown, also more than once. A handler of the same Server must not, because it would
// wait for itself: in a Handler it panics. A Server that was shut down cannot serve again.
func (s *Server) Shutdown(ctx context.Context) error {
	if t := rondo.Current(ctx); t != nil {
		s.mustNotServe(kernel.Of(ctx), t)
	} else if kernel.InsideAny() { // it would block its loop
		return rondo.Check(ctx)
	}
	loop, done := s.beginShutdown()
	if loop == nil {
		return nil
	}
	_, err := done.Wait(ctx)
	if errtree.Is(err, rondo.ErrLoopClosed) {
		return nil // all that it served ended with the loop
	}
	if err != nil {
		on(loop, s.cancelConns)
	}
	return err
}

// beginShutdown ends accepting. The loop is nil if the Server has not begun to serve.
func (s *Server) beginShutdown() (loop kernel.Loop, done *rondo.Future[struct{}]) {
	s.mu.Lock()
	s.ending = true
	loop, done = s.loop, s.done
	s.mu.Unlock()
	if loop != nil {
		on(loop, s.stop)
	}
	return loop, done
}

// mustNotServe panics if t, the task of here that calls Shutdown, runs a Handler of s, for which it
// would wait.
func (s *Server) mustNotServe(here kernel.Loop, t *rondo.Task) {
	s.mu.Lock()
	all := []*Server{s}
	for _, p := range s.parts {
		all = append(all, p.server)
	}
	s.mu.Unlock()
	for _, s := range all {
		s.mu.Lock()
		loop := s.loop
		s.mu.Unlock()
		if loop == here && s.runs(t) {
			panic("rondo: socket.Server.Shutdown in a handler of the same Server would wait for itself: call it in a task of the scope around Serve")
		}
	}
}

// runs reports whether t runs a Handler of s. Only on the loop of s.
func (s *Server) runs(t *rondo.Task) bool {
	return slices.ContainsFunc(s.serving, func(v *service) bool {
		return slices.ContainsFunc(v.conns, func(e *served) bool { return e.task == t })
	})
}

// stop ends accepting.
func (s *Server) stop() {
	for _, v := range s.serving {
		_ = v.listener.Close()
		if v.sessions != nil {
			v.sessions.end()
		}
	}
	s.room.WakeAll() // the task that accepts for parts
	if len(s.serving) == 0 {
		s.done.Set(struct{}{})
	}
}

// closed returns the cause with which a Shutdown cancels what still runs.
func (s *Server) closed() error {
	if s.hooks != nil {
		return s.hooks.Closed
	}
	return ErrServerClosed
}

// cancelConns cancels the remaining handlers and closes their connections.
func (s *Server) cancelConns() {
	for _, v := range s.serving {
		v.scope.Cancel(s.closed())
		for _, e := range v.conns {
			forceClose(e.Conn)
		}
		if v.sessions != nil {
			v.sessions.closeAll()
		}
	}
}
