//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package containment_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/socket"
)

// told is how often each place was told of a failure: OnError of the server, or ErrorLog;
// above it OnError of the Runner; and above that the handler of package slog.
type told struct{ server, runner, log int }

// A fault is a function of the program's that is told of a failure, or looks on, and panics.
type fault struct {
	server, runner, log bool // OnError of the server, of the Runner, and the log panic
	noOnError           bool // the server has none
	tracer              func(crash func()) *rondo.Tracer
	name                bool // the String of what a task waits for panics
	want                told // after one failure of the server's function
	wantHTTP            told // if it differs
}

var faults = map[string]fault{
	"nothing":                             {want: told{server: 1}},
	"OnError of the server":               {server: true, want: told{server: 1, runner: 1}},
	"OnError of the server, and Runner":   {server: true, runner: true, want: told{1, 1, 1}},
	"OnError of both, and the log":        {server: true, runner: true, log: true, want: told{1, 1, 1}},
	"the log of a server without OnError": {noOnError: true, log: true, want: told{log: 1}, wantHTTP: told{runner: 1, log: 1}},
	"a String method":                     {name: true, want: told{server: 1}},
	"Tracer.Started": {want: told{1, 1, 0}, tracer: func(crash func()) *rondo.Tracer {
		return &rondo.Tracer{Started: func(*rondo.Task, time.Time) { crash() }}
	}},
	"Tracer.Stepped": {want: told{1, 1, 0}, tracer: func(crash func()) *rondo.Tracer {
		return &rondo.Tracer{Stepped: func(*rondo.Task, time.Time) { crash() }}
	}},
	"Tracer.Parked": {want: told{1, 1, 0}, tracer: func(crash func()) *rondo.Tracer {
		return &rondo.Tracer{Parked: func(*rondo.Task, rondo.Reason, time.Time) { crash() }}
	}},
	"Tracer.Woken": {want: told{1, 1, 0}, tracer: func(crash func()) *rondo.Tracer {
		return &rondo.Tracer{Woken: func(_, _ *rondo.Task, _ time.Time) { crash() }}
	}},
	"Tracer.Ended": {want: told{1, 1, 0}, tracer: func(crash func()) *rondo.Tracer {
		return &rondo.Tracer{Ended: func(*rondo.Task, error, time.Time) { crash() }}
	}},
	"Tracer.Called": {want: told{1, 1, 0}, tracer: func(crash func()) *rondo.Tracer {
		return &rondo.Tracer{Called: func(_, _ time.Time) { crash() }}
	}},
}

// A form starts a server that answers "ok", but calls bad for a peer that asks for it. onError
// is nil if it has none.
type form func(g *rondo.Scope, bad func(), onError func(err error)) (asked, error)

func ofSockets(sessions bool) form {
	return func(g *rondo.Scope, bad func(), onError func(err error)) (asked, error) {
		exchange := func(c net.Conn) error {
			b := make([]byte, 1)
			if _, err := io.ReadFull(c, b); err != nil {
				return err
			}
			if b[0] == 'b' {
				bad()
			}
			_, _ = io.WriteString(c, "ok")
			return io.EOF
		}
		s := &socket.Server{Handler: func(_ context.Context, c net.Conn) error { return exchange(c) }}
		if sessions {
			s = &socket.Server{Session: func(c net.Conn) func(context.Context) error {
				return func(context.Context) error { return exchange(c) }
			}}
		}
		if onError != nil {
			s.OnError = func(_ net.Conn, err error) { onError(err) }
		}
		address, err := serving(g, s.Serve, socket.ErrServerClosed)
		return asked{ask: asPeer(g, address, "g", "b", isOK), end: s.Shutdown}, err
	}
}

var serverForms = map[string]form{
	"Handler": ofSockets(false),
	"Session": ofSockets(true),
	"Protocol": func(g *rondo.Scope, bad func(), onError func(err error)) (asked, error) {
		p := &socket.Protocol{OnError: onError, Data: func(tr *socket.Transport, b []byte) {
			if b[0] == 'b' {
				bad()
			}
			_, _ = io.WriteString(tr, "ok")
			tr.Close()
		}}
		stop := errors.New("stop")
		var server *rondo.Task
		address, err := serving(g, func(ctx context.Context, l net.Listener) error {
			server = rondo.Current(ctx)
			return p.Serve(ctx, l)
		}, stop)
		return asked{ask: asPeer(g, address, "g", "b", isOK), end: func(context.Context) error { server.Cancel(stop); return nil }}, err
	},
	"HTTP": func(g *rondo.Scope, bad func(), onError func(err error)) (asked, error) {
		s := &httptask.Server{HTTP: http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/bad" {
				bad()
			}
			_, _ = io.WriteString(w, "ok")
		})}}
		if onError != nil {
			s.HTTP.ErrorLog = log.New(writer(func(p []byte) { onError(errors.New(string(p))) }), "", 0)
		}
		address, err := serving(g, s.Serve, http.ErrServerClosed)
		return asked{ask: asPeer(g, address, "GET /good HTTP/1.0\r\n\r\n", "GET /bad HTTP/1.0\r\n\r\n", func(c net.Conn) error {
			text, err := io.ReadAll(c)
			if !strings.HasSuffix(string(text), "ok") {
				err = errors.Join(err, fmt.Errorf("the answer is %q", text))
			}
			return err
		}), end: s.Shutdown}, err
	},
}

// A notebook is a handler of package slog that counts, and may panic.
type notebook struct {
	slog.Handler
	lines *[]string
	panic bool
}

func (n notebook) Handle(_ context.Context, r slog.Record) error {
	*n.lines = append(*n.lines, r.Message)
	if n.panic {
		panic("a panic of the log")
	}
	return nil
}

func (notebook) Enabled(context.Context, slog.Level) bool { return true }

// unprintable is a name of what a task waits for.
type unprintable struct{}

func (unprintable) String() string { panic("a panic of String") }

// suffer has a server of the form fail once while f panics, and returns who was told.
func suffer(t *testing.T, open form, f fault) (n told, lines []string) {
	defer log.SetOutput(log.Writer()) // which SetDefault changes, for good
	defer log.SetFlags(log.Flags())
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(notebook{slog.DiscardHandler, &lines, f.log}))
	explode := func(is bool) {
		if is {
			panic("a panic above")
		}
	}
	r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) {
		n.runner++
		if text := err.Error(); f.server && (!strings.Contains(text, "a panic above") || !strings.Contains(text, errPlain.Error())) {
			t.Errorf("OnError of the Runner got %q, want the panic and the error that it is about", text)
		}
		explode(f.runner)
	}}
	onError := func(error) { n.server++; explode(f.server) }
	if f.noOnError {
		onError = nil
	}
	if f.tracer != nil {
		r.Tracer = f.tracer(func() { panic("a panic of a Tracer") })
	}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		rondo.LoopOf(ctx).CallSoon(func() {})
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			a, err := open(g, func() { panic(errPlain) }, onError)
			if err != nil {
				return err
			}
			if f.name {
				list := rondo.WaitList{Of: unprintable{}}
				waiter := g.Go(func(ctx context.Context) error { return list.Park(ctx, rondo.Reason{What: "a wait"}) })
				defer waiter.Cancel(nil)
				_ = rondo.Sleep(g, time.Microsecond)
			}
			_ = a.ask(g, bad)
			_ = rondo.Tasks(g)
			return errors.Join(a.ask(g, good), a.ask(g, good), a.end(g))
		})
	})
	if err != nil {
		t.Errorf("Run returned %v", err)
	}
	n.log = len(lines)
	return n, lines
}

// TestPanicsAbove: a panic of a function that is told of failures, or looks on, is reported once,
// to the place above it, and the server goes on.
func TestPanicsAbove(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	defer func(real *os.File) { os.Stderr = real }(os.Stderr)
	os.Stderr = null // where the last words go, if the log panics
	for _, at := range slices.Sorted(maps.Keys(serverForms)) {
		for _, name := range slices.Sorted(maps.Keys(faults)) {
			t.Run(at+"/"+name, func(t *testing.T) {
				f := faults[name]
				want := f.want
				if at == "HTTP" && f.wantHTTP != (told{}) {
					want = f.wantHTTP
				}
				if got, lines := suffer(t, serverForms[at], f); got != want {
					t.Errorf("told were %+v, want %+v; the log: %q", got, want, lines)
				}
			})
		}
	}
}
