//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package containment_test

// The matrix: in each place a function of the program's fails in each way. Afterwards the
// place still works, the failure has been reported once, and no task is left.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"maps"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/shard"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// A function is what the program gives to a place.
type function = func(ctx context.Context) error

// A place calls fn for someone else. open returns how it is asked: ask makes it call a function
// that does nothing if all is to go well, and returns whether it did; otherwise fn. reported are
// the errors that came out, also those that ask has returned.
type place struct {
	api      string // the names in api/*.txt
	open     func(ctx context.Context, g *rondo.Scope, fn function) (asked, error)
	quiet    bool // fn has no error result
	callback bool // fn must not wait
	server   bool // it has peers
}

type asked struct {
	ask      func(ctx context.Context, how call) error
	reported func() []error
	end      func(ctx context.Context) error
}

// A call is what is asked for, and what the one who asks does then.
type call int

const (
	good  call = iota // a function that does nothing
	bad               // fn, and it waits for the answer
	reset             // a peer that resets its connection when fn has begun
	leave             // one that closes it
	stay              // fn, and it is cancelled when fn has begun: by the end of the server, or its caller
)

// seen is what a function that waits has come to: the one who asks, on another loop perhaps,
// waits for that.
var seen struct{ begun, ended, released, simulated atomic.Bool }

// throw panics, in an OnError, but in a simulation, which a panic ends.
func throw() {
	if !seen.simulated.Load() {
		panic("a panic of OnError goes no further")
	}
}

func until(ctx context.Context, is *atomic.Bool) error {
	for !is.Load() {
		if err := rondo.Sleep(ctx, time.Microsecond); err != nil { // which moves a simulated clock
			return err
		}
	}
	return nil
}

// places are those that have a scope of their own.
var places = map[string]place{
	"socket.Server.Handler": {api: "socket.Server.Handler socket.Server.OnError socket.Serve", server: true, open: func(ctx context.Context, g *rondo.Scope, fn function) (asked, error) {
		return ofServer(g, func(exchange func(context.Context, net.Conn) error) *socket.Server {
			return &socket.Server{Handler: exchange}
		}, fn)
	}},
	"socket.Server.Session": {api: "socket.Server.Session", server: true, open: func(ctx context.Context, g *rondo.Scope, fn function) (asked, error) {
		return ofServer(g, func(exchange func(context.Context, net.Conn) error) *socket.Server {
			return &socket.Server{Session: func(c net.Conn) func(context.Context) error {
				return func(ctx context.Context) error { return exchange(ctx, c) }
			}}
		}, fn)
	}},
	"socket.Protocol.Data": {api: "socket.Protocol.Data socket.Protocol.OnError", server: true, quiet: true, callback: true, open: func(ctx context.Context, g *rondo.Scope, fn function) (asked, error) {
		return ofProtocol(g, func(p *socket.Protocol, call func(tr *socket.Transport)) {
			p.Data = func(tr *socket.Transport, b []byte) {
				if b[0] == 'b' {
					call(tr)
					return
				}
				_, _ = io.WriteString(tr, "ok")
				tr.Close()
			}
		}, fn)
	}},
	"socket.Protocol.Lost": {api: "socket.Protocol.Lost", server: true, quiet: true, callback: true, open: func(ctx context.Context, g *rondo.Scope, fn function) (asked, error) {
		return ofProtocol(g, func(p *socket.Protocol, call func(tr *socket.Transport)) {
			p.Data = func(tr *socket.Transport, b []byte) {
				if tr.Value = b[0] == 'b'; b[0] == 'g' {
					_, _ = io.WriteString(tr, "ok")
				}
				tr.Close()
			}
			p.Lost = func(tr *socket.Transport, _ error) {
				if bad, _ := tr.Value.(bool); bad {
					call(tr)
				}
			}
		}, fn)
	}},
	"httptask.Handler": {api: "httptask.Handler httptask.Serve httptask.Server", quiet: true, server: true, open: func(ctx context.Context, g *rondo.Scope, fn function) (asked, error) {
		return ofHTTP(g, (*httptask.Server).Serve, fn)
	}},
	"shard.Serve of HTTP": {api: "httptask.Server", quiet: true, server: true, open: func(ctx context.Context, g *rondo.Scope, fn function) (asked, error) {
		return ofHTTP(g, func(s *httptask.Server, ctx context.Context, l net.Listener) error {
			return new(shard.ServeConfig).ServeListener(ctx, l.(*socket.Listener), s)
		}, fn)
	}},
	"shard.Call on another shard": {api: "shard.Call shard.Each", open: func(ctx context.Context, _ *rondo.Scope, fn function) (asked, error) {
		return ofCalls(func(ctx context.Context, fn function) error {
			me := shard.Of(ctx)
			_, err := shard.Call(ctx, me.At(1-me.Index()), func(ctx context.Context) (int, error) { return 0, fn(ctx) })
			return err
		}, fn), nil
	}},
	"shard.Call on the own shard": {api: "shard.Call", open: func(ctx context.Context, _ *rondo.Scope, fn function) (asked, error) {
		return ofCalls(func(ctx context.Context, fn function) error {
			_, err := shard.Call(ctx, shard.Of(ctx), func(ctx context.Context) (int, error) { return 0, fn(ctx) })
			return err
		}, fn), nil
	}},
	"rondo.Contain": {api: "rondo.Contain", open: func(ctx context.Context, _ *rondo.Scope, fn function) (asked, error) {
		return ofCalls(rondo.Contain, fn), nil
	}},
}

// owners are the functions that call what they are given for their own caller: there a
// failure is the caller's. Within Contain it goes no further.
var owners = map[string]func(ctx context.Context, fn function) error{
	"Group": func(ctx context.Context, fn function) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error { return fn(g) })
	},
	"Scope.Go": func(ctx context.Context, fn function) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error { g.Go(fn); return nil })
	},
	"Timeout": func(ctx context.Context, fn function) error { return rondo.Timeout(ctx, time.Hour, fn) },
	"Deadline": func(ctx context.Context, fn function) error {
		return rondo.Deadline(ctx, rondo.Now(ctx).Add(time.Hour), fn)
	},
	"Shield": func(ctx context.Context, fn function) error { return rondo.Shield(ctx, fn) },
	"Go":     func(ctx context.Context, fn function) error { return rondo.Go(ctx, fn).Wait(ctx) },
	"Async": func(ctx context.Context, fn function) error {
		_, err := rondo.Async(ctx, result(fn)).Wait(ctx)
		return err
	},
	"Gather": func(ctx context.Context, fn function) error { _, err := rondo.Gather(ctx, result(fn)); return err },
	"Race":   func(ctx context.Context, fn function) error { _, err := rondo.Race(ctx, result(fn)); return err },
	"Map": func(ctx context.Context, fn function) error {
		for _, err := range rondo.Map(ctx, 1, slices.Values([]int{1}), func(ctx context.Context, _ int) (int, error) { return 0, fn(ctx) }) {
			return err
		}
		return rondo.Check(ctx)
	},
	"Scope.Start": func(ctx context.Context, fn function) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			return g.Start(g, func(ctx context.Context, started func()) error { defer started(); return fn(ctx) })
		})
	},
}

func result(fn function) func(ctx context.Context) (int, error) {
	return func(ctx context.Context) (int, error) { return 0, fn(ctx) }
}

func init() {
	for name, call := range owners {
		places["rondo."+name] = place{api: "rondo." + name, open: func(context.Context, *rondo.Scope, function) (asked, error) { panic("set below") }}
		p := places["rondo."+name]
		p.open = func(_ context.Context, _ *rondo.Scope, fn function) (asked, error) {
			return ofCalls(func(ctx context.Context, fn function) error {
				return rondo.Contain(ctx, func(ctx context.Context) error { return call(ctx, fn) })
			}, fn), nil
		}
		places["rondo."+name] = p
	}
}

// ofCalls asks by calling.
func ofCalls(do func(ctx context.Context, fn function) error, fn function) asked {
	var reported []error
	return asked{
		ask: func(ctx context.Context, how call) (err error) {
			switch how {
			case good:
				return do(ctx, func(context.Context) error { return nil })
			case stay:
				return rondo.Group(ctx, func(g *rondo.Scope) error {
					g.Go(func(ctx context.Context) error {
						err := until(ctx, &seen.begun)
						g.Cancel(nil)
						return err
					})
					return do(g, fn)
				})
			}
			defer func() {
				if p, ok := recover().(error); ok { // what comes out of shard.Call
					err = p
				}
				if err != nil {
					reported = append(reported, err)
				}
			}()
			return do(ctx, fn)
		},
		reported: func() []error { return reported },
		end:      func(context.Context) error { return nil },
	}
}

// asPeer asks the server at address: it sends a request, which is another one if it is to go
// well, and reads the answer, which it does not look at otherwise.
func asPeer(g *rondo.Scope, address, whenGood, whenBad string, answered func(c net.Conn) error) func(ctx context.Context, how call) error {
	return func(ctx context.Context, how call) error {
		c, err := socket.Dial(ctx, "tcp", address)
		if err != nil {
			return err
		}
		if how == good {
			defer c.Close()
			if _, err := io.WriteString(c, whenGood); err != nil {
				return err
			}
			return answered(c)
		}
		seen.begun.Store(false)
		seen.ended.Store(false)
		_, _ = io.WriteString(c, whenBad)
		switch how {
		case reset, leave:
			if err := until(ctx, &seen.begun); err != nil {
				return err
			}
			if how == reset {
				_ = c.(*socket.Conn).SetLinger(0)
			}
			_ = c.Close()
			return until(ctx, &seen.ended)
		case stay:
			g.Go(func(context.Context) error {
				defer c.Close()
				_, _ = io.Copy(io.Discard, c)
				return nil
			})
			return until(ctx, &seen.begun)
		}
		_, _ = io.Copy(io.Discard, c)
		return c.Close()
	}
}

// isOK reads the answer of the servers below.
func isOK(c net.Conn) error {
	text, err := io.ReadAll(c)
	if string(text) != "ok" {
		return fmt.Errorf("the answer is %q, %w", text, errors.Join(err, errors.New("not ok")))
	}
	return nil
}

// serving starts a server, and returns its address.
func serving(g *rondo.Scope, serve func(ctx context.Context, l net.Listener) error, ends error) (string, error) {
	l, err := socket.Listen(g, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	g.Go(func(ctx context.Context) error {
		if err := serve(ctx, l); err != ends {
			return fmt.Errorf("Serve: %w", err)
		}
		return nil
	}).SetName("server")
	return l.Addr().String(), nil
}

// ofServer asks a Server of sockets: its peer sends b for the bad function, or g.
func ofServer(g *rondo.Scope, make func(exchange func(context.Context, net.Conn) error) *socket.Server, fn function) (asked, error) {
	s := make(func(ctx context.Context, c net.Conn) error {
		var b [1]byte
		if _, err := io.ReadFull(c, b[:]); err != nil {
			return err
		}
		if b[0] == 'b' {
			if err := fn(ctx); err != nil {
				return err
			}
			return io.EOF
		}
		_, _ = io.WriteString(c, "ok")
		return io.EOF
	})
	var reported []error
	s.OnError = func(_ net.Conn, err error) {
		if err != io.EOF { // how an exchange ends well
			reported = append(reported, err)
			throw()
		}
	}
	address, err := serving(g, s.Serve, socket.ErrServerClosed)
	return asked{
		ask:      asPeer(g, address, "g", "b", isOK),
		reported: func() []error { return reported },
		end:      s.Shutdown,
	}, err
}

// errGoesOn is returned by what has started a task that ends the connection.
var errGoesOn = errors.New("a task is on its way")

// ofProtocol asks a Protocol, in which set puts a callback that calls the bad function.
func ofProtocol(g *rondo.Scope, set func(p *socket.Protocol, call func(tr *socket.Transport)), fn function) (asked, error) {
	var reported []error
	p := &socket.Protocol{OnError: func(err error) {
		reported = append(reported, err)
		throw()
	}}
	set(p, func(tr *socket.Transport) {
		if fn(tr.Context()) != errGoesOn {
			tr.Close()
		}
	})
	stop := errors.New("stop")
	var server *rondo.Task
	address, err := serving(g, func(ctx context.Context, l net.Listener) error {
		server = rondo.Current(ctx)
		return p.Serve(ctx, l)
	}, stop)
	return asked{
		ask:      asPeer(g, address, "g", "b", isOK),
		reported: func() []error { return reported },
		end:      func(context.Context) error { server.Cancel(stop); return nil },
	}, err
}

// ofHTTP asks a Server of HTTP.
func ofHTTP(g *rondo.Scope, serve func(s *httptask.Server, ctx context.Context, l net.Listener) error, fn function) (asked, error) {
	lines := make(chan string, 100)
	s := &httptask.Server{HTTP: http.Server{
		ErrorLog: log.New(writer(func(p []byte) { lines <- string(p) }), "", 0),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/bad" {
				_ = fn(r.Context())
				return
			}
			_, _ = io.WriteString(w, "ok")
		}),
	}}
	address, err := serving(g, func(ctx context.Context, l net.Listener) error { return serve(s, ctx, l) }, http.ErrServerClosed)
	return asked{
		ask: asPeer(g, address, "GET /good HTTP/1.0\r\n\r\n", "GET /bad HTTP/1.0\r\n\r\n", func(c net.Conn) error {
			answer, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err == nil && answer.StatusCode != 200 {
				err = errors.New(answer.Status)
			}
			return err
		}),
		reported: func() (all []error) {
			for len(lines) > 0 {
				all = append(all, errors.New(<-lines))
			}
			return all
		},
		end: s.Shutdown,
	}, err
}

type writer func(p []byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

// failures are the ways to fail.
var failures = map[string]function{
	"an error":           func(context.Context) error { return errPlain },
	"a typed nil":        func(context.Context) error { var e *fs.PathError; return e },
	"a hostile error":    func(context.Context) error { return hostile{} },
	"a panic":            func(context.Context) error { panic("oh") },
	"a runtime error":    func(context.Context) error { var none []int; return fmt.Errorf("%d", none[1]) },
	"a panic's error":    func(context.Context) error { panic(errPlain) },
	"a hostile panic":    func(context.Context) error { panic(hostile{}) },
	"a panic, typed nil": func(context.Context) error { var e *rondo.PanicError; panic(e) },
	"a deadline":         func(ctx context.Context) error { return rondo.Timeout(ctx, 1, rondo.WaitCanceled) },
	"an error in a wait": func(ctx context.Context) error { _ = rondo.Yield(ctx); return errPlain },
}

// A cell is a way to fail.
type cell struct {
	fn    function
	times int  // how often it is reported
	own   bool // it is the function's own error, not a panic
	how   call // bad if it is 0
}

// afterwards calls fn, or starts it in a task if the caller must not wait.
func afterwards(ctx context.Context, fn function) error {
	if rondo.Current(ctx) == nil {
		rondo.Go(ctx, fn)
		return errGoesOn
	}
	return fn(ctx)
}

// waiting waits until it is cancelled, and goes on until released if it is stubborn.
func waiting(stubborn bool) function {
	return func(ctx context.Context) error {
		return afterwards(ctx, func(ctx context.Context) error {
			seen.begun.Store(true)
			defer seen.ended.Store(true)
			if !stubborn {
				return rondo.WaitCanceled(ctx)
			}
			return rondo.Shield(ctx, func(ctx context.Context) error { return until(ctx, &seen.released) })
		})
	}
}

// cells are all ways to fail, in the function and in a task that it has started. A cell of
// times 0 is no failure.
func cells() map[string]cell {
	all := map[string]cell{
		"starts a task that waits": {fn: func(ctx context.Context) error { rondo.Go(ctx, rondo.WaitCanceled); return nil }},
		"waits for a task's error": {fn: func(ctx context.Context) error {
			task := rondo.Go(ctx, failures["an error"])
			return afterwards(ctx, func(ctx context.Context) error {
				_ = task.Wait(ctx)
				return rondo.Check(ctx)
			})
		}},
		"starts a task that is shielded": {fn: func(ctx context.Context) error {
			rondo.Go(ctx, func(ctx context.Context) error {
				return rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Millisecond) })
			})
			return nil
		}},
		"its peer resets":                    {fn: waiting(false), how: reset},
		"its peer leaves":                    {fn: waiting(false), how: leave},
		"is cancelled":                       {fn: waiting(false), how: stay},
		"never returns while its scope ends": {fn: waiting(true), how: stay},
	}
	for name, fail := range failures {
		all[name] = cell{fn: fail, times: 1, own: !strings.Contains(name, "panic") && !strings.Contains(name, "runtime")}
		all["a task with "+name] = cell{fn: func(ctx context.Context) error {
			rondo.Go(ctx, fail)
			if rondo.Current(ctx) == nil {
				return errGoesOn
			}
			return rondo.WaitCanceled(ctx)
		}, times: 1}
	}
	return all
}

// applies reports whether a cell makes sense in a place.
func applies(at, name string, c cell) bool {
	p, owner := places[at], owners[strings.TrimPrefix(at, "rondo.")] != nil
	switch {
	case at == "socket.Protocol.Lost":
		// It has no peer any more, and what it starts is cancelled at once.
		return c.how == good && !strings.Contains(name, "a task with") && !strings.HasPrefix(name, "waits")
	case c.how == reset, c.how == leave, strings.HasPrefix(name, "never"):
		return p.server // the caller of a call waits for its end
	case c.how == stay:
		return at != "rondo.Shield" // that is what it is for
	case owner:
		return c.times > 0 && !strings.HasPrefix(name, "a task") // what the function starts is the caller's there, and goes on
	case name == "waits for a task's error":
		return at != "socket.Protocol.Data" // which then has nothing that ends it
	}
	return true
}

// check asks a place for a cell, and then for something that goes well, twice, and ends it.
func check(t *testing.T, g *rondo.Scope, at, name string, c cell) error {
	p, tasks := places[at], len(rondo.Tasks(g))
	seen.begun.Store(false)
	seen.released.Store(false)
	a, err := p.open(g, g, c.fn)
	if err != nil {
		return err
	}
	for range 2 {
		_ = a.ask(g, max(c.how, bad))
		if err := a.ask(g, good); err != nil {
			t.Errorf("%s, %s: the next one failed: %v", at, name, err)
		}
	}
	if c.how == stay {
		if err = rondo.Timeout(g, time.Millisecond, a.end); rondo.TimedOut(g, err) {
			err = nil
		}
		seen.released.Store(true)
	} else {
		err = a.end(g)
	}
	for rondo.Check(g) == nil && len(rondo.Tasks(g)) > tasks {
		_ = rondo.Sleep(g, time.Microsecond) // the last of them end
	}
	want := 2 * c.times
	if p.quiet && c.own && !(p.callback && waits[name]) {
		want = 0
	}
	got := a.reported()
	if len(got) != want {
		t.Errorf("%s, %s: reported %d times, want %d: %v", at, name, len(got), want, got)
	}
	for _, err := range got {
		if p, panicked := err.(*rondo.PanicError); panicked && p == nil {
			t.Errorf("%s, %s: the panic that is reported is nil", at, name)
		}
		if strings.HasSuffix(name, "a hostile error") && !strings.Contains(err.Error(), "hostile") {
			t.Errorf("%s, %s: in place of the error is reported: %v", at, name, err)
		}
	}
	return err
}

// waits are the failures that wait, which is a panic in a callback.
var waits = map[string]bool{"a deadline": true, "an error in a wait": true}

// each calls do for each cell of each place.
func each(do func(at, name string, c cell)) {
	all := cells()
	for _, at := range slices.Sorted(maps.Keys(places)) {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if applies(at, name, all[name]) {
				do(at, name, all[name])
			}
		}
	}
}

// onShard runs body on the first of two loops.
func onShard(ctx context.Context, body func(g *rondo.Scope) error) error {
	r := &shard.Runner{Loops: 2}
	return r.Run(ctx, func(ctx context.Context, s *shard.Shard) error {
		if s.Index() != 0 {
			return nil
		}
		return rondo.Group(ctx, body)
	})
}

// TestMatrix: no cell ends the loop, the server, or the next call; each is reported once.
func TestMatrix(t *testing.T) {
	each(func(at, name string, c cell) {
		t.Run(at+"/"+name, func(t *testing.T) {
			if err := onShard(t.Context(), func(g *rondo.Scope) error { return check(t, g, at, name, c) }); err != nil {
				t.Errorf("Run returned %v", err)
			}
		})
	})
}

// TestMatrixGoexit: runtime.Goexit ends the loop wherever it is called: nothing stops it, and a
// test calls it to end the whole test. Nothing is left.
func TestMatrixGoexit(t *testing.T) {
	for _, at := range slices.Sorted(maps.Keys(places)) {
		t.Run(at, func(t *testing.T) {
			var err error
			returned, done := false, make(chan bool)
			go func() {
				defer close(done)
				err = onShard(context.Background(), func(g *rondo.Scope) error {
					a, err := places[at].open(g, g, func(context.Context) error { runtime.Goexit(); return nil })
					if err != nil {
						return err
					}
					_ = a.ask(g, bad)
					return rondo.WaitCanceled(g)
				})
				returned = true
			}()
			<-done
			if returned && err == nil {
				t.Error("Run returned nil")
			}
		})
	}
}

// TestMatrixSimulated: on a simulated host no error ends more than on a real one. A panic does:
// a test must see it. So those are left out, and Protocol, which needs descriptors.
func TestMatrixSimulated(t *testing.T) {
	seen.simulated.Store(true)
	defer seen.simulated.Store(false)
	cluster := sim.Config{Seeds: 2}
	cluster.Cluster(t, func(ctx context.Context, w *sim.World) {
		ended := rondo.NewFuture[struct{}](ctx)
		w.Host("server", func(ctx context.Context) error {
			defer ended.Set(struct{}{})
			each(func(at, name string, c cell) {
				if places[at].callback || strings.HasPrefix(at, "shard.") || strings.Contains(name, "panic") || strings.Contains(name, "runtime") {
					return
				}
				if err := rondo.Group(ctx, func(g *rondo.Scope) error { return check(t, g, at, name, c) }); err != nil {
					t.Errorf("%s, %s: %v", at, name, err)
				}
			})
			return nil
		})
		_, _ = ended.Wait(ctx)
	})
}
