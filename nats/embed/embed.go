// Package embed runs a NATS server inside a process, owned by a scope: one command, no
// other program to install. With Options.Cluster and Options.Routes several processes form
// a cluster, and each goes on when another dies.
//
// The server is the real one, github.com/nats-io/nats-server, with goroutines of its own. In a
// simulation it runs on a host of a cluster with sim.Config.Goroutines, as docs/CLUSTERS.md says,
// and nowhere else. It is a module of its own so that clients do not require the server.
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
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/rondo-go/rondo"
)

// readyMax is how long a server may take until it accepts connections.
const readyMax = 30 * time.Second

// Start starts a server with the options, and suspends the task until it accepts
// connections. When g ends, after its other tasks have ended, the server is shut down; it
// alone does not keep g from ending. Until then a loop whose tasks all wait is not taken
// for one in deadlock. Start a server in a scope around that of the
// connections to it, so that they are closed first.
//
// Without a Host the server listens on 127.0.0.1 only, and so do the other listeners that
// the options ask for without one. If the options have no Host and say nothing about who may
// connect, neither a token, users, accounts nor keys, Start makes a token of 128 random bits,
// because every user of the machine reaches 127.0.0.1: URL returns the address with it. A
// server that others are to reach has a Host, such as "0.0.0.0", and a cluster of several machines
// has a Cluster.Host as well: with a Cluster.Port alone no other machine reaches it.
//
// The options are the server's, and are not changed. The server installs no signal
// handlers. Its warnings and errors go to slog, unless NoLog is set; SetLoggerV2 of the
// server changes that. If the handler of slog panics, the line goes to standard error. If the
// server cannot start, the error has its words. If g is cancelled meanwhile, Start returns
// the cause, and the server is shut down.
func Start(g *rondo.Scope, o *server.Options) (*server.Server, error) {
	if o == nil {
		panic("embed: Start with nil Options")
	}
	options := o.Clone()
	options.NoSigs = true
	token := protect(options)
	l := &logger{quiet: options.NoLog, fatal: make(chan struct{})}
	s, err := startOffloaded(g, options, l)
	if err != nil {
		return nil, err
	}
	if token != "" {
		tokens.Store(s, token)
	}
	// A loop on which all tasks wait is idle and not in deadlock while its server works for others.
	working := rondo.NewFuture[struct{}](g).OnDone(func() {})
	next, _ := rondo.Pull(g, func(yield func(struct{}) bool) {
		yield(struct{}{})
		defer working()
		defer func() { l.keep = nil }() // timers of the server outlive it, and would keep the loop
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

// tokens are those that Start has made, by the servers that run.
var tokens sync.Map

// URL returns the address for clients of a server that Start has started, with the token that
// Start has made for it, if any.
func URL(s *server.Server) string {
	address := s.ClientURL()
	token, made := tokens.Load(s)
	if u, err := url.Parse(address); made && err == nil {
		u.User = url.User(token.(string))
		return u.String()
	}
	return address
}

// protect makes a server private that has no Host. It returns the token that it has made.
func protect(o *server.Options) (token string) {
	alone := o.Host == ""
	for _, l := range []struct {
		host *string
		port int
	}{
		{&o.Host, 1}, {&o.HTTPHost, max(o.HTTPPort, o.HTTPSPort)}, {&o.Cluster.Host, o.Cluster.Port}, {&o.Gateway.Host, o.Gateway.Port},
		{&o.LeafNode.Host, o.LeafNode.Port}, {&o.Websocket.Host, o.Websocket.Port}, {&o.MQTT.Host, o.MQTT.Port},
	} {
		if *l.host == "" && l.port != 0 {
			*l.host = "127.0.0.1"
		}
	}
	if alone && open(o) {
		token = rand.Text()
		o.Authorization = token
	}
	return token
}

// open reports whether the options let everybody connect.
func open(o *server.Options) bool {
	return o.Username == "" && o.Password == "" && o.Authorization == "" && o.NoAuthUser == "" && o.AuthCallout == nil &&
		len(o.Users) == 0 && len(o.Nkeys) == 0 && len(o.Accounts) == 0 && len(o.TrustedKeys) == 0 && len(o.TrustedOperators) == 0 &&
		o.CustomClientAuthentication == nil && !o.TLSVerify && !o.TLSMap && !o.DontListen && o.ConfigFile == ""
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
	tokens.Delete(s)
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

func (l *logger) Warnf(format string, v ...any)  { l.log(slog.LevelWarn, format, v) }
func (l *logger) Errorf(format string, v ...any) { l.log(slog.LevelError, format, v) }

// log hands a line to the handler of package slog, which is the program's. Nothing else stands
// above it on a goroutine of the server, so what it panics with ends here: the line then goes to
// standard error.
func (l *logger) log(level slog.Level, format string, values []any) {
	if l.quiet {
		return
	}
	line := "nats server: " + fmt.Sprintf(format, values...)
	defer func() {
		if v := recover(); v != nil {
			fmt.Fprintf(os.Stderr, "%s\nnats: the handler of package slog panicked: %s\n", line, text(v))
		}
	}()
	slog.Log(context.Background(), level, line)
}

// text is fmt.Sprint, which itself panics where a method that it calls panics with its own value.
func text(v any) (s string) {
	defer func() {
		if recover() != nil {
			s = fmt.Sprintf("(a %T that cannot be printed: its methods panic)", v)
		}
	}()
	return fmt.Sprint(v)
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
