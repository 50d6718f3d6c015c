package httptask_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/internal/peer"
	"github.com/rondo-go/rondo/socket"
)

// A parrot takes connections over and repeats each line. "panic", "fail" and "wait" are more than
// words, and so are the paths.
type parrot struct {
	t      testing.TB
	calls  int
	cancel error // with which a call was cancelled that waited
}

func (p *parrot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := httptask.Session(r.Context(), nil2); err == nil {
		p.t.Error("Session before Hijack")
	}
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		p.t.Error(err)
		return
	}
	say(c, "taken\n")
	err = httptask.Session(r.Context(), func(ctx context.Context, in *bufio.Reader) error { return p.call(ctx, c, in) })
	if again := httptask.Session(r.Context(), nil2); err != nil || again == nil {
		p.t.Errorf("Session: %v; the second time: %v", err, again)
	}
	if rw.Reader.Buffered() > 0 && r.URL.Path == "/silent" {
		p.t.Error("something was read early")
	}
	if r.URL.Path == "/panic" {
		panic("the handler's")
	}
}

func nil2(context.Context, *bufio.Reader) error { return nil }

func (p *parrot) call(ctx context.Context, c net.Conn, in *bufio.Reader) error {
	line, err := in.ReadString('\n')
	if err != nil {
		return err // also that of a connection which the call before has closed
	}
	p.calls++
	switch line {
	case "panic\n":
		panic("the session's")
	case "fail\n":
		return errors.New("the session's error")
	case "close\n":
		return c.Close()
	case "wait\n":
		say(c, "waits\n")
		p.cancel = rondo.WaitCanceled(ctx)
		return p.cancel
	}
	say(c, line)
	return nil
}

// talkTo asks for a session with text after the request, and then says more, a piece at a time.
// It returns what comes until the end.
func talkTo(c net.Conn, path, text string, pieces ...string) (string, error) {
	in := bufio.NewReader(c)
	say(c, "GET "+path+" HTTP/1.1\r\nHost: h\r\n\r\n"+text)
	var all strings.Builder
	for _, piece := range append([]string{""}, pieces...) {
		say(c, piece)
		if piece != "" && !strings.HasSuffix(piece, "\n") {
			continue // there is no answer to half a line
		}
		line, err := in.ReadString('\n')
		all.WriteString(line)
		if err != nil {
			return all.String(), err
		}
	}
	rest, err := io.ReadAll(in)
	all.Write(rest)
	return all.String(), err
}

// TestSession: a handler's connection goes on as a session, with what came early, lines that come
// in pieces, and several at once. It is the same with TLS, and where net/http carries it.
func TestSession(t *testing.T) {
	for _, form := range []string{"plain", "TLS", "behind net/http"} {
		t.Run(form, func(t *testing.T) {
			p := &parrot{t: t}
			s := &httptask.Server{HTTP: http.Server{Handler: p, ErrorLog: silent}}
			var config *tls.Config
			if form == "TLS" {
				pair, roots := certificate()
				s.HTTP.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}}
				config = &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}
			}
			use := func(ctx context.Context, address string) error {
				return away(ctx, func() error {
					c, err := dial(address, config)
					if err != nil {
						return err
					}
					defer c.Close()
					got, err := talkTo(c, "/", "early\n", "one\n", "hal", "f\n", "two\nthree\nclose\n")
					if want := "taken\nearly\none\nhalf\ntwo\nthree\n"; got != want || err != nil {
						t.Errorf("%q, want %q: %v", got, want, err)
					}
					return nil
				})
			}
			if form == "behind net/http" {
				inTasksBehind(t, s, use)
			} else {
				inTasks(t, s, use)
			}
			if p.calls != 6 {
				t.Errorf("%d calls for 6 lines", p.calls)
			}
		})
	}
}

func dial(address string, config *tls.Config) (net.Conn, error) {
	if config == nil {
		return net.Dial("tcp", address)
	}
	return tls.Dial("tcp", address, config)
}

// inTasksBehind is inTasks for a listener whose connections net/http carries.
func inTasksBehind(t testing.TB, s *httptask.Server, use func(ctx context.Context, address string) error) {
	run(t, func(ctx context.Context) error {
		l := listen(t)
		served := rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, struct{ net.Listener }{l}) })
		err := errors.Join(use(ctx, l.Addr().String()), s.Shutdown(ctx))
		if end := served.Wait(ctx); end != http.ErrServerClosed {
			err = errors.Join(err, end)
		}
		return err
	})
}

// TestSessionFails: an error and a panic of a session, and of a handler that has begun one, are
// logged once and close the connection; the next one is served.
func TestSessionFails(t *testing.T) {
	for _, behind := range []bool{false, true} {
		for _, c := range []struct{ path, line, logged string }{
			{"/", "fail\n", "the session's error"},
			{"/", "panic\n", "the session's"},
			{"/panic", "", "the handler's"},
		} {
			var book logbook
			s := &httptask.Server{HTTP: http.Server{Handler: &parrot{t: t}, ErrorLog: newLog(&book)}}
			serve := inTasks
			if behind {
				serve = inTasksBehind
			}
			serve(t, s, func(ctx context.Context, address string) error {
				for i := range 2 {
					err := away(ctx, func() error {
						n, err := net.Dial("tcp", address)
						if err != nil {
							return err
						}
						defer n.Close()
						got, err := talkTo(n, c.path, c.line)
						if got != "taken\n" || err != nil {
							t.Errorf("%s%s: %q, %v", c.path, c.line, got, err)
						}
						return nil
					})
					if err != nil {
						return err
					}
					if err := until(ctx, func() bool { return strings.Count(book.String(), c.logged) > i }); err != nil {
						return err
					}
				}
				return nil
			})
			if n := strings.Count(book.String(), c.logged); n != 2 {
				t.Errorf("behind %v, %s%s: logged %d times: %s", behind, c.path, c.line, n, book.String())
			}
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("Session of a nil function does not panic")
		}
	}()
	if err := httptask.Session(t.Context(), nil2); err == nil {
		t.Error("Session without a request")
	}
	_ = httptask.Session(t.Context(), nil)
}

// TestSessionEnd: idle sessions have no task. Shutdown closes them at once, waits for a call that
// runs, and cancels it when its time is over. ConnState does not learn of what a session does.
func TestSessionEnd(t *testing.T) {
	if !peer.Watches {
		return // net/http has the connections
	}
	const idle = 10
	p := &parrot{t: t}
	var states []http.ConnState
	s := &httptask.Server{HTTP: http.Server{Handler: p, ErrorLog: silent}}
	s.HTTP.ConnState = func(_ net.Conn, state http.ConnState) { states = append(states, state) }
	run(t, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		served := rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) })
		open := func(text, want string) (c net.Conn, in *bufio.Reader, err error) {
			if c, err = socket.Dial(ctx, "tcp", l.Addr().String()); err != nil {
				return nil, nil, err
			}
			in = bufio.NewReader(c)
			say(c, "GET /silent HTTP/1.1\r\nHost: h\r\n\r\n")
			for _, line := range []string{"taken\n", want} {
				if line == "" {
					break
				}
				if got, err := in.ReadString('\n'); got != line || err != nil {
					return nil, nil, fmt.Errorf("%q, %w", got, err)
				}
				say(c, text)
				text = ""
			}
			return c, in, nil
		}
		var conns []net.Conn
		for i := range idle {
			word := "hello\n"
			if i < idle/2 {
				word = "" // it says nothing
			}
			c, _, err := open(word, word)
			if err != nil {
				return err
			}
			defer c.Close()
			conns = append(conns, c)
		}
		busy, _, err := open("wait\n", "waits\n")
		if err != nil {
			return err
		}
		defer busy.Close()
		// This one, Serve's, the one that stands for the sessions, and the one that waits.
		few := func() bool { return len(rondo.Tasks(ctx)) <= 6 }
		if err := rondo.Timeout(ctx, time.Minute, func(ctx context.Context) error { return until(ctx, few) }); err != nil {
			t.Errorf("%d tasks for %d idle sessions: %v", len(rondo.Tasks(ctx)), idle, err)
		}
		if got := s.Stats().Open; got != idle+1 {
			t.Errorf("%d connections are open", got)
		}
		late := rondo.Timeout(ctx, 50*time.Millisecond, s.Shutdown)
		if !errors.Is(late, context.DeadlineExceeded) {
			t.Errorf("Shutdown did not wait: %v", late)
		}
		for _, c := range conns {
			if b, err := io.ReadAll(c); len(b) > 0 || err != nil {
				t.Errorf("an idle session ends with %q, %v", b, err)
			}
		}
		if err := served.Wait(ctx); err != http.ErrServerClosed || p.cancel != http.ErrServerClosed {
			t.Errorf("Serve returns %v; the call was cancelled with %v", err, p.cancel)
		}
		return nil
	})
	for i, state := range states {
		if want := []http.ConnState{http.StateNew, http.StateActive, http.StateHijacked}[i%3]; state != want {
			t.Errorf("states: %v", states)
			break
		}
	}
}

// TestSessionIsFree: a session keeps nothing of a call that has ended in memory.
func TestSessionIsFree(t *testing.T) {
	if !peer.Watches {
		return // net/http has the connections
	}
	var scopes []weak.Pointer[rondo.Scope]
	s := &httptask.Server{HTTP: http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			err = httptask.Session(r.Context(), func(ctx context.Context, in *bufio.Reader) error {
				scopes = append(scopes, weak.Make(ctx.(*rondo.Scope)))
				line, err := in.ReadString('\n')
				say(c, line)
				return err
			})
		}
		if err != nil {
			t.Error(err)
		}
	})}}
	inTasks(t, s, func(ctx context.Context, address string) error {
		c := connect(t, address)
		defer c.Close()
		err := away(ctx, func() error {
			from := bufio.NewReader(c)
			say(c, get)
			for range 2 {
				say(c, "hello\n")
				if line, err := from.ReadString('\n'); line != "hello\n" || err != nil {
					return fmt.Errorf("%q, %w", line, err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if !leak.Collected(func() bool { return scopes[0].Value() == nil }) {
			t.Error("the scope of a call is still in memory after the next one")
		}
		return nil
	})
}
