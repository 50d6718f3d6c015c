package httptask_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/internal/peer"
	"github.com/rondo-go/rondo/socket"
)

// TestStats: a Server counts its connections and the panics of handlers, also after it has
// ended, and does not count http.ErrAbortHandler.
func TestStats(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/panic":
			panic("a fault of the handler")
		case "/abort":
			panic(http.ErrAbortHandler)
		}
	})
	if !peer.Watches {
		return // net/http serves the connections here
	}
	run(t, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		s := &httptask.Server{HTTP: http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}}
		served := rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) })
		for _, path := range []string{"/", "/panic", "/abort"} {
			c, err := socket.Dial(ctx, "tcp", l.Addr().String())
			if err != nil {
				return err
			}
			fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", path)
			if _, err := io.ReadAll(c); err != nil {
				return err
			}
			c.Close()
		}
		want := socket.Stats{Accepted: 3, Errors: 1, Panics: 1}
		if got := s.Stats(); got.Accepted != 3 || got.Panics != 1 {
			t.Errorf("while it serves Stats returns %+v; want %+v", got, want)
		}
		if err := s.Shutdown(ctx); err != nil {
			return err
		}
		_ = served.Wait(ctx)
		if got := s.Stats(); got != want {
			t.Errorf("after the end Stats returns %+v; want %+v", got, want)
		}
		return nil
	})
}

// TestGrace: when the ctx of Serve ends, requests that run may end, and those that do
// not in time are cancelled.
func TestGrace(t *testing.T) {
	cut := errors.New("cut")
	for i, grace := range []time.Duration{time.Minute, 20 * time.Millisecond, -1, time.Minute, -1} {
		t.Run(fmt.Sprint(i, grace), func(t *testing.T) {
			var waited error
			var answer string
			started, may := false, new(rondo.Event)
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				started = true
				waited = may.Wait(r.Context())
				say(w, "done")
			})
			run(t, func(ctx context.Context) error {
				l := listen(t)
				if i >= 3 {
					l = struct{ net.Listener }{l} // net/http serves it
				}
				s := &httptask.Server{HTTP: http.Server{Handler: h}, Grace: grace}
				served := rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) })
				asked := rondo.Go(ctx, func(ctx context.Context) (err error) {
					client := httptask.Client(ctx)
					defer client.CloseIdleConnections()
					answer, err = ask(ctx, client, "http://"+l.Addr().String())
					return err
				})
				if err := until(ctx, func() bool { return started }); err != nil {
					return err
				}
				served.Cancel(cut)
				if grace == time.Minute {
					// No new connection is taken.
					err := until(ctx, func() bool {
						c, err := net.Dial("tcp", l.Addr().String())
						if err == nil {
							c.Close()
						}
						return err != nil
					})
					if waited != nil || err != nil {
						t.Errorf("the handler was cancelled: %v; %v", waited, err)
					}
					may.Set()
				}
				// A handler that is cancelled may still have answered before the connection
				// was closed.
				if err := asked.Wait(ctx); grace == time.Minute && (err != nil || answer != "done") {
					t.Errorf("the client got %q, %v", answer, err)
				}
				if err := served.Wait(ctx); !errors.Is(err, cut) {
					t.Errorf("Serve returned %v", err)
				}
				return nil
			})
			if want := map[bool]error{false: http.ErrServerClosed}[grace == time.Minute]; !errors.Is(waited, want) {
				t.Errorf("the handler's wait returned %v, not %v", waited, want)
			}
		})
	}
}

func ones(set ...func(*http.Protocols, bool)) []func(*http.Protocols, bool) { return set }

func protocols(set []func(*http.Protocols, bool)) *http.Protocols {
	p := new(http.Protocols)
	for _, set := range set {
		set(p, true)
	}
	return p
}

// TestShutdown: it waits for requests, and cancels them when its own ctx ends, also where net/http
// has the connections, or those of HTTP/2. It may be called by a goroutine.
func TestShutdown(t *testing.T) {
	for i := range 6 {
		outside, others, http2 := i%2 == 1, i/2 == 1, i/2 == 2
		t.Run(fmt.Sprintf("outside=%v others=%v http2=%v", outside, others, http2), func(t *testing.T) {
			started := false
			var waited error
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				started = true
				waited = rondo.Sleep(r.Context(), time.Hour)
			})
			run(t, func(ctx context.Context) error {
				l := listen(t)
				if others {
					l = struct{ net.Listener }{l}
				}
				s := &httptask.Server{HTTP: http.Server{Handler: h}}
				client := &http.Transport{}
				defer client.CloseIdleConnections()
				if http2 {
					s.HTTP.Protocols = protocols(ones((*http.Protocols).SetHTTP1, (*http.Protocols).SetUnencryptedHTTP2))
					client.Protocols = protocols(ones((*http.Protocols).SetUnencryptedHTTP2))
				}
				served := rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) })
				asked := rondo.Go(ctx, func(ctx context.Context) error {
					_, _ = ask(ctx, &http.Client{Transport: httptask.Transport(ctx, client)}, "http://"+l.Addr().String())
					return nil
				})
				if err := until(ctx, func() bool { return started }); err != nil {
					return err
				}
				shutdown := func(ctx context.Context) error { return rondo.Timeout(ctx, 10*time.Millisecond, s.Shutdown) }
				if outside {
					shutdown = func(ctx context.Context) error {
						return away(ctx, func() error {
							ctx, stop := context.WithTimeout(context.Background(), 10*time.Millisecond)
							defer stop()
							return s.Shutdown(ctx)
						})
					}
				}
				if err := shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Shutdown returned %v", err)
				}
				if err := served.Wait(ctx); !errors.Is(err, http.ErrServerClosed) {
					t.Errorf("Serve returned %v", err)
				}
				if err := s.Serve(ctx, listen(t)); !errors.Is(err, http.ErrServerClosed) {
					t.Errorf("Serve after Shutdown returned %v", err)
				}
				return asked.Wait(ctx)
			})
			if !errors.Is(waited, http.ErrServerClosed) {
				t.Errorf("the handler's wait returned %v", waited)
			}
		})
	}
}

// TestGraceInShutdown: the end of Serve's ctx ends requests also while a Shutdown waits for them.
func TestGraceInShutdown(t *testing.T) {
	for _, others := range []bool{false, true} {
		var waited error
		run(t, func(ctx context.Context) error {
			started := false
			s := &httptask.Server{Grace: -1, HTTP: http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				started = true
				waited = rondo.Sleep(r.Context(), time.Hour)
			})}}
			l := listen(t)
			if others {
				l = struct{ net.Listener }{l}
			}
			served := rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) })
			c := connect(t, l.Addr().String())
			defer c.Close()
			say(c, get)
			if err := until(ctx, func() bool { return started }); err != nil {
				return err
			}
			shut := rondo.Go(ctx, s.Shutdown)
			err := until(ctx, func() bool { // the listener is closed
				c, err := net.Dial("tcp", l.Addr().String())
				if err == nil {
					c.Close()
				}
				return err != nil
			})
			served.Cancel(errHere)
			if err := served.Wait(ctx); !errors.Is(err, errHere) {
				t.Errorf("others=%v: Serve returned %v", others, err)
			}
			_ = shut.Wait(ctx)
			return err
		})
		if !errors.Is(waited, http.ErrServerClosed) {
			t.Errorf("others=%v: the handler's wait returned %v", others, waited)
		}
	}
}

// TestShutdownFromAnotherLoop: it suspends a task of another loop, which a request that runs
// may need.
func TestShutdownFromAnotherLoop(t *testing.T) {
	ready := make(chan *rondo.Loop, 1)
	started := make(chan bool, 1)
	s := &httptask.Server{HTTP: http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		other := <-ready
		started <- true
		n, err := rondo.Submit(other, func(ctx context.Context) (int, error) { return 7, rondo.Sleep(ctx, 50*time.Millisecond) }).Wait(r.Context())
		_, _ = fmt.Fprint(w, n, err)
	})}}
	address := make(chan string, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- rondo.Run(t.Context(), func(ctx context.Context) error {
			l := listen(t)
			address <- l.Addr().String()
			return s.Serve(ctx, l)
		})
	}()
	url := "http://" + <-address
	answer := make(chan string, 1)
	run(t, func(ctx context.Context) error {
		ready <- rondo.LoopOf(ctx)
		go func() {
			r, err := http.Get(url)
			if err != nil {
				answer <- err.Error()
				return
			}
			defer r.Body.Close()
			b, err := io.ReadAll(r.Body)
			answer <- fmt.Sprint(string(b), err)
		}()
		if _, _, err := rondo.Receive(ctx, started); err != nil {
			return err
		}
		return rondo.Timeout(ctx, 20*time.Second, s.Shutdown)
	})
	if got := <-answer; got != "7 <nil><nil>" {
		t.Errorf("the client got %q", got)
	}
	if err := <-ended; err != http.ErrServerClosed {
		t.Errorf("Serve returned %v", err)
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestListenerFails: Serve returns the error of Accept, also if net/http has a part in the Server.
func TestListenerFails(t *testing.T) {
	run(t, func(ctx context.Context) error {
		for _, http2 := range []bool{false, true} {
			l := listen(t)
			s := &httptask.Server{HTTP: http.Server{Handler: http.NotFoundHandler(), Protocols: new(http.Protocols)}}
			s.HTTP.Protocols.SetHTTP1(true)
			s.HTTP.Protocols.SetUnencryptedHTTP2(http2)
			rondo.Go(ctx, func(ctx context.Context) error { return l.Close() })
			if err := s.Serve(ctx, l); !errors.Is(err, net.ErrClosed) {
				t.Errorf("Serve returned %v", err)
			}
		}
		return nil
	})
}

// A brokenListener calls functions before Accept, and after Close.
type brokenListener struct {
	net.Listener
	accepts, closed func()
}

func (l brokenListener) Accept() (net.Conn, error) { l.accepts(); return l.Listener.Accept() }
func (l brokenListener) Close() error              { defer l.closed(); return l.Listener.Close() }

// TestListenerPanics: a panic, or a Goexit, of a listener that net/http calls is the error of Serve
// or of Shutdown. That of a Close for which nobody waits goes to OnError.
func TestListenerPanics(t *testing.T) {
	well, panics := func() {}, func() { panic(errHere) }
	isPanic := func(err error) bool { return errors.Is(err, errHere) }
	for _, row := range []struct {
		what                      string
		accepts, closed           func()
		serves, shuts, unattended func(err error) bool // what the errors are
	}{
		{what: "Accept", accepts: panics, closed: well, serves: isPanic},
		{what: "Accept leaves", accepts: runtime.Goexit, closed: well, serves: func(err error) bool { return err != nil }},
		{what: "Shutdown", accepts: well, closed: panics, shuts: isPanic, serves: func(err error) bool { return err == http.ErrServerClosed }},
		{what: "the end", accepts: well, closed: panics, serves: func(err error) bool { return err == context.Canceled }, unattended: isPanic},
	} {
		var got, served, shut error
		r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { got = errors.Join(got, err) }}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			accepts := new(rondo.Event)
			wake := rondo.LoopOf(ctx)
			l := brokenListener{listen(t), func() { _ = wake.Post(accepts.Set); row.accepts() }, row.closed}
			s := &httptask.Server{Grace: -1, HTTP: http.Server{Handler: http.NotFoundHandler()}}
			around, cancel := context.WithCancel(ctx)
			defer cancel()
			serve := rondo.Go(ctx, func(context.Context) error { served = s.Serve(around, l); return nil })
			err := accepts.Wait(ctx)
			switch {
			case row.shuts != nil:
				shut = s.Shutdown(ctx)
			case row.unattended != nil:
				cancel()
			}
			return errors.Join(err, serve.Wait(ctx), until(ctx, func() bool { return row.unattended == nil || got != nil }))
		})
		ok := func(want func(error) bool, err error) bool {
			return want == nil && err == nil || want != nil && want(err)
		}
		if err != nil || !ok(row.serves, served) || !ok(row.shuts, shut) || !ok(row.unattended, got) {
			t.Errorf("%s: Run: %v; Serve: %v; Shutdown: %v; OnError: %v", row.what, err, served, shut, got)
		}
	}
}

// TestBaseContextPanics: a panic of BaseContext comes out of Serve, which has closed the listener.
func TestBaseContextPanics(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l := listen(t)
		s := &httptask.Server{HTTP: http.Server{BaseContext: func(net.Listener) context.Context { panic("no base") }}}
		err := rondo.Contain(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) })
		if p, ok := err.(*rondo.PanicError); !ok || p.Value != "no base" {
			t.Errorf("Serve: %v", err)
		}
		if err := l.(*net.TCPListener).SetDeadline(time.Time{}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the listener: %v", err)
		}
		return nil
	})
}

// TestListenerFailsUnderRequest: where net/http has the connections, a request that runs when the
// listener fails has the Grace. (Where tasks have them, the program cannot close the listener.)
func TestListenerFailsUnderRequest(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l := listen(t)
		var waited error
		s := &httptask.Server{Grace: -1, HTTP: http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_ = l.Close()
			waited = rondo.Sleep(r.Context(), time.Hour)
		})}}
		c := connect(t, l.Addr().String())
		defer c.Close()
		say(c, get)
		if err := s.Serve(ctx, struct{ net.Listener }{l}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Serve returned %v", err)
		}
		if waited == nil {
			t.Error("the handler was not cancelled")
		}
		return nil
	})
}

// TestCancelledIsNotLogged: what tasks of a handler return because the Server has ended, or the
// context of the program, and their connections with it, is in no log.
func TestCancelledIsNotLogged(t *testing.T) {
	for _, byBase := range []bool{false, true} {
		var log logbook
		run(t, func(ctx context.Context) error {
			var begun rondo.Event
			base, end := context.WithCancelCause(context.Background())
			defer end(nil)
			s := &httptask.Server{Grace: -1, HTTP: http.Server{ErrorLog: newLog(&log), BaseContext: func(net.Listener) context.Context { return base }, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				for _, err := range []error{net.ErrClosed, os.ErrDeadlineExceeded, nil} {
					rondo.Go(r.Context(), func(ctx context.Context) error {
						cause := rondo.WaitCanceled(ctx)
						return cmp.Or(err, cause)
					})
				}
				begun.Set()
				_ = rondo.WaitCanceled(r.Context())
			})}}
			l := listen(t)
			served := rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) })
			c := connect(t, l.Addr().String())
			defer c.Close()
			say(c, get)
			if err := begun.Wait(ctx); err != nil {
				return err
			}
			if byBase {
				end(errors.New("the program ends"))
				if _, err := rondo.Offload(ctx, func(context.Context) (int, error) { return c.Read(make([]byte, 1)) }); err != nil {
					return err
				}
			}
			served.Cancel(errHere)
			_ = served.Wait(ctx)
			return nil
		})
		if log.String() != "" {
			t.Errorf("by BaseContext: %v: the log has %s", byBase, log.String())
		}
	}
}

// TestCancelledInTaskIsNotLogged: nor is it for a Handler that a task of the same loop calls.
func TestCancelledInTaskIsNotLogged(t *testing.T) {
	var log logbook
	server := &http.Server{ErrorLog: newLog(&log)}
	run(t, func(ctx context.Context) error {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			h := httptask.Handler(g, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				rondo.Go(r.Context(), rondo.WaitCanceled)
				_ = rondo.Yield(r.Context())
				g.Cancel(errHere)
			}))
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil).WithContext(context.WithValue(g, http.ServerContextKey, server)))
			return nil
		})
		if err != nil && err != errHere {
			return err
		}
		return nil
	})
	if log.String() != "" {
		t.Errorf("the log has %s", log.String())
	}
}

// TestTwoListeners: a Server with plain HTTP and TLS at once; and BaseContext of the
// user's, which sees the listeners as they were given.
func TestTwoListeners(t *testing.T) {
	type key struct{}
	certificate, roots := certificate()
	var plain, secure net.Listener
	s := &httptask.Server{HTTP: http.Server{
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
		BaseContext: func(l net.Listener) context.Context {
			if l == plain {
				return context.WithValue(context.Background(), key{}, "plain")
			}
			return context.WithValue(context.Background(), key{}, "other")
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := rondo.Yield(r.Context()); err != nil {
				t.Error(err)
			}
			fmt.Fprint(w, r.Proto, " ", r.TLS != nil, " ", r.Context().Value(key{}))
		}),
	}}
	run(t, func(ctx context.Context) (err error) {
		if plain, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return err
		}
		if secure, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return err
		}
		first := rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, plain) })
		second := rondo.Go(ctx, func(ctx context.Context) error { return s.ServeTLS(ctx, secure, "", "") })
		base := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
		client := &http.Client{Transport: httptask.Transport(ctx, base)}
		defer client.CloseIdleConnections()
		for url, want := range map[string]string{
			"http://" + plain.Addr().String():   "HTTP/1.1 false plain",
			"https://" + secure.Addr().String(): "HTTP/2.0 true other",
		} {
			if got, err := ask(ctx, client, url); got != want || err != nil {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
		}
		err = s.Shutdown(ctx)
		for _, served := range []*rondo.Task{first, second} {
			if end := served.Wait(ctx); !errors.Is(end, http.ErrServerClosed) {
				err = errors.Join(err, end)
			}
		}
		return err
	})
}

// certificate returns one for 127.0.0.1, and who vouches for it.
func certificate() (tls.Certificate, *x509.CertPool) {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return s.TLS.Certificates[0], roots
}

// TestHTTP2Stall: a stream whose client neither sends nor reads holds up no other.
func TestHTTP2Stall(t *testing.T) {
	stalled := 0
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/read":
			stalled++
			_, _ = io.ReadAll(r.Body)
			stalled--
		case "/write":
			stalled++
			for {
				if _, err := w.Write(make([]byte, 100_000)); err != nil {
					break
				}
			}
			stalled--
		default:
			say(w, "quick")
		}
	})
	certificate, roots := certificate()
	s := &httptask.Server{HTTP: http.Server{
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
		Handler:   h, ErrorLog: silent,
	}}
	inTasks(t, s, func(ctx context.Context, address string) error {
		base := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
		client := &http.Client{Transport: httptask.Transport(ctx, base)}
		defer client.CloseIdleConnections()
		url := "https://" + address
		from, to := io.Pipe()
		asked := rondo.Go(ctx, func(ctx context.Context) error {
			return away(ctx, func() error {
				_, err := client.Post(url+"/read", "", from)
				return err
			})
		})
		a, err := client.Get(url + "/write")
		if err != nil {
			return err
		}
		if err := until(ctx, func() bool { return stalled == 2 }); err != nil {
			return err
		}
		for range 50 {
			if got, err := ask(ctx, client, url+"/"); got != "quick" || err != nil {
				return fmt.Errorf("%q, %v", got, err)
			}
		}
		if stalled != 2 {
			t.Errorf("%d streams are stalled", stalled)
		}
		to.CloseWithError(errors.New("enough"))
		err = a.Body.Close()
		if asked.Wait(ctx) == nil {
			t.Error("a request whose body failed has succeeded")
		}
		return errors.Join(err, until(ctx, func() bool { return stalled == 0 }))
	})
}

// TestLoopEnds: while clients come in without pause, the loop ends; each request is
// answered, refused, or finds its connection closed.
func TestLoopEnds(t *testing.T) {
	var server *http.Server
	var ok, refused, closed atomic.Int64
	ended := make(chan struct{})
	l := listen(t)
	stop, enough, down := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var isDown atomic.Bool
	run(t, func(ctx context.Context) error {
		count := 0
		server = &http.Server{Handler: httptask.Handler(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			count++
			_ = rondo.Yield(r.Context())
			say(w, "ok")
		}))}
		go func() { _ = server.Serve(l) }()
		for range 20 {
			go func() {
				for {
					select {
					case <-stop:
						ended <- struct{}{}
						return
					default:
					}
					a, err := http.Get("http://" + l.Addr().String())
					if err != nil {
						if isDown.Load() && closed.Add(1) == 20 {
							close(down)
						}
						continue
					}
					switch a.StatusCode {
					case 200:
						ok.Add(1)
					case 503:
						if refused.Add(1) == 100 {
							close(enough)
						}
					default:
						t.Error(a.Status)
					}
					_, _ = io.Copy(io.Discard, a.Body)
					a.Body.Close()
				}
			}()
		}
		return until(ctx, func() bool { return count > 200 })
	})
	<-enough
	isDown.Store(true)
	server.Close()
	<-down
	close(stop)
	for range 20 {
		<-ended
	}
	http.DefaultClient.CloseIdleConnections()
	if ok.Load() < 200 {
		t.Errorf("%d answered, %d refused, %d closed", ok.Load(), refused.Load(), closed.Load())
	}
}
