//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package httptask_test

// Idle connections, and how many connections there are.

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// TestSetKeepAlivesEnabled: without keep-alives, connections that are idle end at once, and
// others with their next answer. A connection that has sent nothing yet, and one that a handler
// has made a session, go on.
func TestSetKeepAlivesEnabled(t *testing.T) {
	sim.Config{Seeds: 3}.Cluster(t, func(ctx context.Context, w *sim.World) {
		done := false
		var s httptask.Server
		s.HTTP.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/":
			case "/off":
				s.SetKeepAlivesEnabled(false)
			case "/session":
				(&parrot{t: t}).ServeHTTP(w, r)
			}
		})
		w.Host("server", func(ctx context.Context) error { return listenAndServe(ctx, &s) })
		w.Host("client", func(ctx context.Context) error {
			_ = rondo.Sleep(ctx, time.Second)
			ask := func(c net.Conn, in *bufio.Reader, path string) (last bool) {
				say(c, "GET "+path+" HTTP/1.1\r\nHost: h\r\n\r\n")
				a, err := http.ReadResponse(in, nil)
				if err != nil {
					t.Errorf("%s: %v", path, err)
					return false
				}
				return a.Close
			}
			dial := func() (net.Conn, *bufio.Reader) {
				c, err := socket.Dial(ctx, "tcp", "server:80")
				if err != nil {
					t.Fatal(err)
				}
				return c, bufio.NewReader(c)
			}
			idle, fromIdle := dial()
			other, fromOther := dial()
			fresh, fromFresh := dial()
			taken, fromTaken := dial()
			if ask(idle, fromIdle, "/") {
				t.Error("the first answer ends its connection")
			}
			say(taken, "GET /session HTTP/1.1\r\nHost: h\r\n\r\n")
			said, err := fromTaken.ReadString('\n')
			if said != "taken\n" || err != nil {
				t.Errorf("the session: %q %v", said, err)
			}
			if !ask(other, fromOther, "/off") {
				t.Error("the answer to who turns them off does not end its connection")
			}
			if _, err := fromIdle.ReadByte(); err != io.EOF {
				t.Errorf("the idle connection: %v", err)
			}
			if !ask(fresh, fromFresh, "/") {
				t.Error("the first answer after that does not end its connection")
			}
			say(taken, "still here\n")
			if said, err := fromTaken.ReadString('\n'); said != "still here\n" || err != nil {
				t.Errorf("the session: %q %v", said, err)
			}
			for _, c := range []net.Conn{idle, other, fresh, taken} {
				_ = c.Close()
			}
			done = true
			return s.Shutdown(ctx)
		})
		_ = rondo.Sleep(ctx, time.Minute)
		if !done {
			t.Error("the client has not ended")
		}
	})
}

// TestSetKeepAlivesEnabledOfOthers: the same of connections that net/http serves.
func TestSetKeepAlivesEnabledOfOthers(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l := listen(t)
		s := &httptask.Server{HTTP: http.Server{Handler: http.NotFoundHandler()}}
		s.SetKeepAlivesEnabled(false)
		served := rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, struct{ net.Listener }{l}) })
		err := away(ctx, func() error {
			c := connect(t, l.Addr().String())
			defer c.Close()
			say(c, get)
			a, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err == nil && !a.Close {
				t.Error("the answer does not end its connection")
			}
			return err
		})
		err = errors.Join(err, s.Shutdown(ctx))
		if end := served.Wait(ctx); !errors.Is(end, http.ErrServerClosed) {
			err = errors.Join(err, end)
		}
		return err
	})
}

// listenAndServe serves port 80 of a host.
func listenAndServe(ctx context.Context, s *httptask.Server) error {
	l, err := socket.Listen(ctx, "tcp", ":80")
	if err != nil {
		return err
	}
	if err := s.Serve(ctx, l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// TestMaxConns: more connections than MaxConns wait until one ends.
func TestMaxConns(t *testing.T) {
	sim.Config{Seeds: 3}.Cluster(t, func(ctx context.Context, w *sim.World) {
		most := 0
		open := 0
		s := &httptask.Server{MaxConns: 2}
		s.HTTP.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			open++
			most = max(most, open)
			_ = rondo.Sleep(r.Context(), time.Second)
			open--
			w.Header().Set("Connection", "close")
		})
		w.Host("server", func(ctx context.Context) error { return listenAndServe(ctx, s) })
		w.Host("clients", func(ctx context.Context) error {
			_ = rondo.Sleep(ctx, time.Second)
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				for range 5 {
					g.Go(func(ctx context.Context) error {
						c, err := socket.Dial(ctx, "tcp", "server:80")
						if err != nil {
							return err
						}
						defer c.Close()
						say(c, get)
						b, err := io.ReadAll(c)
						if !strings.Contains(string(b), "200 OK") {
							t.Errorf("the answer: %q", b)
						}
						return err
					})
				}
				return nil
			})
			return errors.Join(err, s.Shutdown(ctx))
		})
		_ = rondo.Sleep(ctx, time.Minute)
		if most != 2 {
			t.Errorf("%d requests at once", most)
		}
	})
}

// TestMaxConnsOfOthers: what net/http serves has no such limit, and is refused.
func TestMaxConnsOfOthers(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l := listen(t)
		s := &httptask.Server{MaxConns: 2}
		if err := s.Serve(ctx, struct{ net.Listener }{l}); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "MaxConns") {
			t.Errorf("Serve: %v", err)
		}
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the listener is open: %v", err)
		}
		return nil
	})
}

// TestNegativeMaxConns: a negative MaxConns panics, also where net/http would serve the listener.
func TestNegativeMaxConns(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l := listen(t)
		s := &httptask.Server{MaxConns: -1}
		for name, serve := range map[string]func(net.Listener) error{
			"Serve":    func(l net.Listener) error { return s.Serve(ctx, l) },
			"ServeTLS": func(l net.Listener) error { return s.ServeTLS(ctx, l, "", "") },
		} {
			for _, l := range []net.Listener{l, struct{ net.Listener }{l}} {
				panics(t, name+" with a negative MaxConns", func() { _ = serve(l) })
			}
		}
		return nil
	})
}
