// Package embed runs a NATS server inside a process, owned by a scope: one command, no
// other program to install. With Options.Cluster and Options.Routes several processes form
// a cluster, and each goes on when another dies.
//
// The server is the real one, github.com/nats-io/nats-server, with goroutines of its own.
// It takes no part in a simulation. It is a module of its own so that clients do not
// require the server.
//
// A file store (Options.StoreDir) survives the death of the process: what was acknowledged
// is in the system's buffers by then. It does not survive a power failure so well: the
// store syncs to disk every two minutes (Options.SyncInterval), and what came after the last
// sync may be lost, also what was acknowledged. Options.SyncAlways syncs before each
// acknowledgement, at a price; a stream with three replicas on machines that do not fail
// together needs neither.
//
// A StoreDir belongs to one server at a time. On Unix a second one, of this process or of
// another on the machine, cannot start. Elsewhere, or if it was not started by Start, both
// write to it, and damage it.
package embed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/rondo-go/rondo"
)

// readyMax is how long a server may take until it accepts connections.
const readyMax = 30 * time.Second

// Start starts a server with the options, and suspends the task until it accepts
// connections. When g ends, after its other tasks have ended, the server is shut down; it
// alone does not keep g from ending. Start a server in a scope around that of the
// connections to it, so that they are closed first.
//
// The options are the server's, and are not changed. The server installs no signal
// handlers. Its warnings and errors go to slog, unless NoLog is set; SetLoggerV2 of the
// server changes that. If the server cannot start, the error has its words. If g is
// cancelled meanwhile, Start returns the cause, and the server is shut down.
func Start(g *rondo.Scope, o *server.Options) (*server.Server, error) {
	if o == nil {
		panic("embed: Start with nil Options")
	}
	options := o.Clone()
	options.NoSigs = true
	l := &logger{quiet: options.NoLog, fatal: make(chan struct{})}
	s, err := startOffloaded(g, options, l)
	if err != nil {
		return nil, err
	}
	next, _ := rondo.Pull(g, func(yield func(struct{}) bool) {
		yield(struct{}{})
		_ = rondo.Shield(g, func(ctx context.Context) error {
			return rondo.OffloadFunc(ctx, func(context.Context) error { stop(s, l); return nil })
		})
	})
	next()
	// The collector stops a Pull that nobody can call any more. What the server keeps is
	// kept, and the logger is such a thing.
	l.keep = next
	return s, nil
}

// startOffloaded starts a server on a goroutine. One for which nobody waits any more is
// shut down.
func startOffloaded(ctx context.Context, o *server.Options, l *logger) (*server.Server, error) {
	var mu sync.Mutex
	var made *server.Server
	left := false
	s, err := rondo.Offload(ctx, func(ctx context.Context) (*server.Server, error) {
		s, err := start(ctx, o, l)
		mu.Lock()
		defer mu.Unlock()
		if s != nil && left {
			stop(s, l)
		}
		made = s
		return s, err
	})
	if err != nil {
		mu.Lock()
		defer mu.Unlock()
		left = true
		if made != nil {
			go stop(made, l)
		}
	}
	return s, err
}

var errNotReady = fmt.Errorf("it does not accept connections after %v", readyMax)

// start makes a server and waits until it is ready. It blocks.
func start(ctx context.Context, o *server.Options, l *logger) (*server.Server, error) {
	unclaim, err := claimStore(o)
	if err != nil {
		return nil, fmt.Errorf("embed: start the server: %w", err)
	}
	s, err := server.NewServer(o)
	if err != nil {
		unclaim()
		return nil, fmt.Errorf("embed: start the server: %w", err)
	}
	l.unclaim = unclaim
	s.SetLoggerV2(l, false, false, false)
	s.Start()
	err = errNotReady
	for end := time.Now().Add(readyMax); time.Now().Before(end) && err == errNotReady; {
		if s.ReadyForConnections(50 * time.Millisecond) {
			return s, nil
		}
		select {
		case <-l.fatal:
			err = errors.New(l.why)
		case <-ctx.Done():
			stop(s, l)
			return nil, context.Cause(ctx)
		default:
		}
	}
	stop(s, l)
	return nil, fmt.Errorf("embed: start the server: %w", err)
}

// stop shuts a server down. It blocks.
func stop(s *server.Server, l *logger) {
	s.Shutdown()
	s.WaitForShutdown()
	l.unclaim()
}

// A logger hands what the server complains of to slog.
type logger struct {
	quiet   bool
	keep    any
	unclaim func() // the store of the server
	once    sync.Once
	fatal   chan struct{} // closed after the first fatal error
	why     string        // it
}

func (l *logger) Warnf(format string, v ...any) {
	if !l.quiet {
		slog.Warn(fmt.Sprintf("nats server: "+format, v...))
	}
}

func (l *logger) Errorf(format string, v ...any) {
	if !l.quiet {
		slog.Error(fmt.Sprintf("nats server: "+format, v...))
	}
}

func (l *logger) Fatalf(format string, v ...any) {
	l.once.Do(func() {
		l.why = fmt.Sprintf(format, v...)
		close(l.fatal)
	})
	l.Errorf(format, v...)
}

func (l *logger) Noticef(string, ...any) {}
func (l *logger) Debugf(string, ...any)  {}
func (l *logger) Tracef(string, ...any)  {}
