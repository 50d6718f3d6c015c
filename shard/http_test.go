//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

// Elsewhere net/http serves the connections of an httptask.Server.

package shard_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/shard"
	"github.com/rondo-go/rondo/socket"
)

// httpServer returns a Server whose log nobody reads.
func httpServer(h http.HandlerFunc) *httptask.Server {
	return &httptask.Server{HTTP: http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}}
}

// newClient returns a client of one version of HTTP.
func newClient(config *tls.Config, http2 bool) *http.Client {
	p := new(http.Protocols)
	p.SetHTTP1(!http2)
	p.SetHTTP2(http2)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config, Protocols: p}}
}

// get returns the answer of url, or its error.
func get(c *http.Client, url string) (string, error) {
	a, err := c.Get(url)
	if err != nil {
		return "", err
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	return string(b), err
}

// askTwice returns the answers of two requests on one connection. The Transport of net/http may
// take another one for the second.
func askTwice(c net.Conn) (answers [2]string, err error) {
	in := bufio.NewReader(c)
	for i := range answers {
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
			return answers, err
		}
		a, err := http.ReadResponse(in, nil)
		if err != nil {
			return answers, err
		}
		b, err := io.ReadAll(a.Body)
		if err != nil {
			return answers, err
		}
		answers[i] = string(b)
	}
	return answers, nil
}

// TestServeHTTP: the handlers of an httptask.Server run on the shard that has their connection,
// as many on each, with one listener and with one for each shard. A panic ends its own
// connection on any of them, and ConnState sees all of them from the first state to the last.
func TestServeHTTP(t *testing.T) {
	for _, reuse := range []bool{false, true} {
		var fresh, closed atomic.Int64
		s := httpServer(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/panic" {
				panic("a fault of the handler")
			}
			fmt.Fprint(w, shard.Of(r.Context()).Index())
		})
		s.HTTP.ConnState = func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				fresh.Add(1)
			case http.StateClosed:
				closed.Add(1)
			}
		}
		config := shard.ServeConfig{Listen: socket.ListenConfig{ReusePort: reuse}}
		on := make(map[string]int)
		serve(t, 4, config, s, func(address string) {
			for range 16 {
				c, err := net.Dial("tcp", address)
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				names, err := askTwice(c)
				if err != nil || names[0] != names[1] {
					t.Errorf("a connection is served on shards %s and %s: %v", names[0], names[1], err)
				}
				on[names[0]]++
			}
			for range 8 {
				c := newClient(nil, false)
				if _, err := get(c, "http://"+address+"/panic"); err == nil {
					t.Error("a panic gives an answer")
				}
				c.CloseIdleConnections()
			}
		})
		for i, n := range on {
			if !reuse && n != 4 {
				t.Errorf("%d connections on shard %s", n, i)
			}
		}
		if got := s.Stats(); got.Accepted < 24 || got.Open != 0 || got.Panics < 8 || got.Panics != got.Errors {
			t.Errorf("reuse %v: after the end: %+v", reuse, got)
		}
		if fresh.Load() != closed.Load() || fresh.Load() != s.Stats().Accepted {
			t.Errorf("reuse %v: %d connections were new, %d closed, %d accepted", reuse, fresh.Load(), closed.Load(), s.Stats().Accepted)
		}
	}
}

// TestServeHTTPS: with TLS, HTTP/2 is served on all shards too, each connection on one.
func TestServeHTTPS(t *testing.T) {
	pair := httptest.NewUnstartedServer(nil)
	pair.StartTLS()
	defer pair.Close()
	trusted := pair.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	for _, http2 := range []bool{false, true} {
		var end atomic.Int64
		s := httpServer(func(w http.ResponseWriter, r *http.Request) {
			if r.TLS == nil || r.ProtoAtLeast(2, 0) != http2 {
				t.Errorf("%s, with TLS: %v", r.Proto, r.TLS != nil)
			}
			_ = rondo.Yield(r.Context())
			fmt.Fprint(w, shard.Of(r.Context()).Index())
		})
		s.HTTP.RegisterOnShutdown(func() { end.Add(1) })
		on := make(map[string]int)
		config := shard.ServeConfig{TLS: &tls.Config{Certificates: pair.TLS.Certificates}}
		serve(t, 3, config, s, func(address string) {
			for range 6 {
				config := &tls.Config{RootCAs: trusted, ServerName: "example.com"}
				if http2 {
					c := newClient(config, true)
					defer c.CloseIdleConnections()
					for range 2 {
						name, err := get(c, "https://"+address)
						if err != nil {
							t.Error(err)
						}
						on[name]++
					}
					continue
				}
				c, err := tls.Dial("tcp", address, config)
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				names, err := askTwice(c)
				if err != nil {
					t.Error(err)
				}
				for _, name := range names {
					on[name]++
				}
			}
		})
		if len(on) != 3 || on["0"] == 0 || on["0"]%2 != 0 {
			t.Errorf("HTTP/2 %v: requests on each shard: %v", http2, on)
		}
		// net/http calls it on a goroutine, and so it is itself told of the end.
		for end.Load() == 0 || strings.Contains(leak.Stacks(), "http.(*Server).Shutdown") || strings.Contains(leak.Stacks(), "beginQuiet") {
			runtime.Gosched()
		}
		if s.HTTP.Protocols != nil || end.Load() != 1 {
			t.Errorf("HTTP/2 %v: %d calls of what RegisterOnShutdown has", http2, end.Load())
		}
	}
}

// A stage is where handlers on several shards wait. Any goroutine may use it.
type stage struct {
	mu     sync.Mutex
	arrive int
	full   chan bool // closed when as many wait as are to
	futs   []*rondo.Future[bool]
	open   bool
}

// wait waits until open is called.
func (s *stage) wait(ctx context.Context, all int) error {
	f := rondo.NewFuture[bool](ctx)
	s.mu.Lock()
	if s.arrive++; s.arrive == all {
		close(s.full)
	}
	s.futs = append(s.futs, f)
	if s.open {
		f.Set(true)
	}
	s.mu.Unlock()
	_, err := f.Wait(ctx)
	return err
}

func (s *stage) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = true
	for _, f := range s.futs {
		f.Set(true)
	}
}

// TestServeHTTPEnd: whether Shutdown is called or the shards are cancelled, the requests that
// run on all shards are answered if they end in time, and cancelled on each shard if not.
func TestServeHTTPEnd(t *testing.T) {
	const shards, clients = 3, 9
	for _, cancelled := range []bool{false, true} {
		for _, grace := range []time.Duration{-1, 10 * time.Millisecond, time.Minute} {
			inTime := grace == time.Minute
			t.Run(fmt.Sprintf("cancelled %v, grace %v", cancelled, grace), func(t *testing.T) {
				scene := &stage{full: make(chan bool)}
				var causes sync.Map
				s := httpServer(func(w http.ResponseWriter, r *http.Request) {
					if scene.wait(r.Context(), clients) != nil {
						causes.Store(shard.Of(r.Context()).Index(), context.Cause(r.Context()))
						panic(http.ErrAbortHandler)
					}
					fmt.Fprint(w, "done")
				})
				s.Grace = grace
				answers := endOf(t, s, shards, clients, cancelled, inTime, scene)
				for _, answer := range answers {
					if (answer == "done") != inTime {
						t.Errorf("a request that ran is answered %q", answer)
					}
				}
				for i := range shards {
					cause, was := causes.Load(i)
					if was == inTime || was && cause != http.ErrServerClosed {
						t.Errorf("the cause on shard %d: %v", i, cause)
					}
				}
			})
		}
	}
}

// endOf ends s while it serves, and returns the answers, "" for each that failed.
func endOf(t *testing.T, s *httptask.Server, shards, clients int, cancelled, inTime bool, scene *stage) []string {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	cut := errors.New("cut")
	answers := make([]string, clients)
	var asked sync.WaitGroup
	shutdown := make(chan error, 1)
	var served error
	r := shard.Runner{Loops: shards}
	err := r.Run(ctx, func(ctx context.Context, me *shard.Shard) error {
		if me.Index() != 0 {
			return nil
		}
		l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		for i := range answers {
			asked.Go(func() {
				c := newClient(nil, false)
				defer c.CloseIdleConnections()
				answers[i], _ = get(c, "http://"+l.Addr().String())
			})
		}
		s.HTTP.RegisterOnShutdown(func() { // the end has begun
			if inTime {
				scene.release()
			}
		})
		go func() {
			<-scene.full
			if cancelled {
				cancel(cut)
				shutdown <- nil
				return
			}
			ctx, cancel := context.WithTimeout(context.Background(), s.Grace)
			defer cancel()
			shutdown <- s.Shutdown(ctx)
		}()
		served = new(shard.ServeConfig).ServeListener(ctx, l, s)
		return nil
	})
	asked.Wait()
	late := <-shutdown
	switch {
	case cancelled && (err != nil || !errors.Is(served, cut)):
		t.Errorf("Run returns %v, Serve %v", err, served)
	case !cancelled && (err != nil || served != http.ErrServerClosed || (late == nil) != inTime):
		t.Errorf("Run returns %v, Serve %v, Shutdown %v", err, served, late)
	}
	return answers
}

// TestServeHTTPHijack: a handler that has taken its connection over has it on its own shard, and
// is cancelled there when its time is over.
func TestServeHTTPHijack(t *testing.T) {
	var causes sync.Map
	s := httpServer(func(w http.ResponseWriter, r *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "x")
		_, _ = c.Read(make([]byte, 1))
		causes.Store(shard.Of(r.Context()).Index(), context.Cause(r.Context()))
	})
	s.Grace = 10 * time.Millisecond
	serve(t, 3, shard.ServeConfig{}, s, func(address string) {
		for range 3 {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { c.Close() })
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
			if _, err := c.Read(make([]byte, 1)); err != nil {
				t.Error(err)
			}
		}
		if err := s.Shutdown(t.Context()); err != nil { // hijacked handlers have Grace
			t.Errorf("Shutdown: %v", err)
		}
	})
	for i := range 3 {
		if cause, _ := causes.Load(i); cause != http.ErrServerClosed {
			t.Errorf("the cause on shard %d: %v", i, cause)
		}
	}
}

// TestServeHTTPSession: a session of a connection that a handler has taken over stays on its
// shard, and outlives the end of the keep-alives, which the idle connections do not.
func TestServeHTTPSession(t *testing.T) {
	s := httpServer(func(w http.ResponseWriter, r *http.Request) {
		at := shard.Of(r.Context())
		if r.URL.Path == "/idle" {
			return
		}
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprintln(c, at.Index())
		err = httptask.Session(r.Context(), func(ctx context.Context, in *bufio.Reader) error {
			_, err := in.ReadString('\n')
			if err != nil {
				return err
			}
			if shard.Of(ctx) != at {
				t.Error("the session is on another shard than its handler")
			}
			fmt.Fprintln(c, at.Index())
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	serve(t, 3, shard.ServeConfig{}, s, func(address string) {
		idle, all := make([]*bufio.Reader, 3), make(map[string]bool)
		for i := range 3 {
			for _, path := range []string{"/idle", "/"} {
				c, err := net.Dial("tcp", address)
				if err != nil {
					t.Error(err)
					return
				}
				t.Cleanup(func() { c.Close() })
				in := bufio.NewReader(c)
				_, _ = io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: h\r\n\r\n")
				if path == "/idle" {
					if _, err := http.ReadResponse(in, nil); err != nil {
						t.Error(err)
					}
					idle[i] = in
					continue
				}
				first, err := in.ReadString('\n')
				all[first] = true
				defer func() {
					_, _ = io.WriteString(c, "again\n")
					if again, err2 := in.ReadString('\n'); again != first {
						t.Errorf("the session says %q and %q: %v", first, again, errors.Join(err, err2))
					}
				}()
			}
		}
		s.SetKeepAlivesEnabled(false)
		for _, in := range idle {
			if _, err := in.ReadByte(); err != io.EOF {
				t.Errorf("an idle connection: %v", err)
			}
		}
		if len(all) == 1 {
			t.Errorf("all sessions are on one shard: %v", all)
		}
	})
}

// TestServeOthers: what is no server of Rondo's, or one that net/http would serve, is refused.
func TestServeOthers(t *testing.T) {
	type wrapped struct{ *socket.Server }
	onFirst(t, 2, func(ctx context.Context, _ *shard.Shard) error {
		for want, s := range map[string]shard.Server{
			"a nil Server":                   (*httptask.Server)(nil),
			"Serve of a shard_test.wrapped:": wrapped{new(socket.Server)},
		} {
			func() {
				defer func() {
					if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
						t.Errorf("%s, want %q", got, want)
					}
				}()
				_ = shard.Serve(ctx, "tcp", "127.0.0.1:0", s)
			}()
		}
		s := httpServer(nil)
		s.HTTP.Protocols = new(http.Protocols)
		s.HTTP.Protocols.SetUnencryptedHTTP2(true)
		if err := shard.Serve(ctx, "tcp", "127.0.0.1:0", s); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("without HTTP/1: %v", err)
		}
		return nil
	})
}
