// Package tcp is the server that the programs with goroutines share. Package net has none
// that ends in order, so each such program needs these lines, or a library with them. The
// lines of this package do not count for any program of the comparison.
package tcp

import (
	"context"
	"log"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// A Server handles each connection on a goroutine.
type Server struct {
	Handle func(ctx context.Context, c net.Conn) error

	cut   context.CancelFunc
	mu    sync.Mutex
	conns map[net.Conn]bool
}

// Serve serves l until ctx is cancelled, or SIGINT or SIGTERM comes. Connections have the
// time grace after that. It returns when all have been handled.
func (s *Server) Serve(ctx context.Context, l net.Listener, grace time.Duration) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	var inner context.Context // of the handlers: what runs at the signal may go on
	inner, s.cut = context.WithCancel(context.Background())
	defer s.cut()
	s.conns = make(map[net.Conn]bool)
	context.AfterFunc(ctx, func() {
		stop() // a second signal ends the program
		l.Close()
		time.AfterFunc(grace, s.closeAll)
	})
	var handlers sync.WaitGroup
	defer handlers.Wait()
	for {
		c, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.conns[c] = true
		s.mu.Unlock()
		handlers.Go(func() { s.handle(inner, c) })
	}
}

func (s *Server) handle(ctx context.Context, c net.Conn) {
	err := s.Handle(ctx, c)
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	c.Close()
	if err != nil {
		log.Print(err)
	}
}

func (s *Server) closeAll() {
	s.cut()
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.Close()
	}
}
