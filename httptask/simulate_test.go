package httptask_test

// Simulations: in a bubble a server and its clients are a part of what a seed repeats; on
// a host of a cluster they are refused.

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/cryptotest"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// pipes is a net.Listener whose connections are pipes.
type pipes struct {
	calls chan net.Conn
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.calls:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.done:
	default:
		close(p.done)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.IPAddr{} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.calls <- far:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestGoroutines has a server and three clients in tasks of one loop, and net/http's
// goroutines around it. Handlers share a counter and sleep on the simulated clock. The
// seeds that run twice do the same both times.
func TestGoroutines(t *testing.T) {
	sim.Config{Seeds: 30, Goroutines: true, Exact: true}.Test(t, func(ctx context.Context) {
		l, inside, most := newPipes(), 0, 0
		server := &httptask.Server{HTTP: http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			inside++
			most = max(most, inside)
			_ = rondo.Sleep(r.Context(), time.Hour)
			inside--
			_, _ = io.Copy(w, r.Body)
		})}}
		start := rondo.Now(ctx)
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				if err := server.Serve(ctx, l); err != http.ErrServerClosed {
					return err
				}
				return nil
			})
			base := &http.Transport{DialContext: l.dial}
			client := &http.Client{Transport: httptask.Transport(ctx, base)}
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				for i := range 3 {
					g.Go(func(ctx context.Context) error {
						// Of requests at one instant the runtime chooses which is first.
						if err := rondo.Sleep(ctx, time.Duration(i)*time.Millisecond); err != nil {
							return err
						}
						return sendBack(ctx, client, fmt.Sprint("hello ", i))
					})
				}
				return nil
			})
			base.CloseIdleConnections()
			// Of connections that end at the instant of the Shutdown it may still find some.
			if err := cmp.Or(err, rondo.Sleep(ctx, time.Millisecond)); err != nil {
				return err
			}
			return server.Shutdown(g)
		})
		if err != nil || most != 3 || rondo.Now(ctx).Sub(start) != time.Hour+3*time.Millisecond {
			t.Errorf("%v; %d handlers at once, after %v", err, most, rondo.Now(ctx).Sub(start))
		}
	})
}

// A slowTransport is a RoundTripper that answers after a moment of real time.
type slowTransport struct{}

func (slowTransport) RoundTrip(*http.Request) (*http.Response, error) {
	for range 1000 {
		runtime.Gosched()
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// TestRequestTakesNoTime: while the goroutine of a request works, the time of a simulation stands
// still.
func TestRequestTakesNoTime(t *testing.T) {
	sim.Config{Exact: true}.Test(t, func(ctx context.Context) {
		client := &http.Client{Transport: httptask.Transport(ctx, slowTransport{})}
		sleeper := rondo.Go(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
		start := rondo.Now(ctx)
		for range 2 {
			if _, err := client.Get("http://server/"); err != nil {
				t.Error(err)
			}
		}
		if passed := rondo.Now(ctx).Sub(start); passed != 0 {
			t.Errorf("%v have passed", passed)
		}
		sleeper.Cancel(nil)
	})
}

// sendBack sends a text and wants it back.
func sendBack(ctx context.Context, client *http.Client, text string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://server/", strings.NewReader(text))
	if err != nil {
		return err
	}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	back, err := io.ReadAll(answer.Body)
	if err == nil && string(back) != text {
		err = fmt.Errorf("%q came back as %q", text, back)
	}
	return err
}

// TestCluster has a server and a client on simulated hosts refused with a sentence, before
// they use the network of the machine.
func TestCluster(t *testing.T) {
	const want = "no part of a sim.Cluster"
	sim.Config{Seeds: 2}.Cluster(t, func(ctx context.Context, w *sim.World) {
		w.Host("server", func(ctx context.Context) error {
			l := newPipes()
			if err := httptask.Serve(ctx, l, http.NotFoundHandler()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Serve returned %v", err)
			}
			if _, err := l.Accept(); err != net.ErrClosed {
				t.Error("Serve has not closed the listener:", err)
			}
			s := httptask.Server{HTTP: http.Server{Addr: "127.0.0.1:0"}}
			if err := s.ListenAndServe(ctx); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("ListenAndServe returned %v", err)
			}
			return nil
		})
		_, err := httptask.Client(ctx).Get("http://server:8080/")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Get returned %v", err)
		}
		_ = rondo.Sleep(ctx, time.Second)
	})
}

// TestServerInCluster: a server and its clients run on hosts of a cluster, and time is simulated.
func TestServerInCluster(t *testing.T) {
	sim.Config{Seeds: 3}.Cluster(t, func(ctx context.Context, w *sim.World) {
		visits := 0
		mux := http.NewServeMux()
		mux.HandleFunc("POST /add/{n}", func(w http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			if err := rondo.Sleep(r.Context(), time.Minute); err != nil {
				t.Error(err)
			}
			visits++
			fmt.Fprintf(w, "%s %s %d", r.PathValue("n"), b, len(r.Host))
		})
		w.Host("server", func(ctx context.Context) error {
			l, err := socket.Listen(ctx, "tcp", ":80")
			if err != nil {
				return err
			}
			return (&httptask.Server{HTTP: http.Server{Handler: mux}}).Serve(ctx, l)
		})
		for i := range 3 {
			w.Host(fmt.Sprint("client", i), func(ctx context.Context) error {
				_ = rondo.Sleep(ctx, time.Second)
				c, err := socket.Dial(ctx, "tcp", "server:80")
				if err != nil {
					return err
				}
				defer c.Close()
				in := bufio.NewReader(c)
				for range 2 {
					fmt.Fprintf(c, "POST /add/%d HTTP/1.1\r\nHost: server\r\nContent-Length: 2\r\n\r\nhi", i)
					a, err := http.ReadResponse(in, nil)
					if err != nil {
						return err
					}
					if b, err := io.ReadAll(a.Body); string(b) != fmt.Sprintf("%d hi 6", i) || err != nil {
						t.Errorf("%q, %v", b, err)
					}
				}
				return nil
			})
		}
		_ = rondo.Sleep(ctx, 5*time.Minute)
		if visits != 6 {
			t.Errorf("%d visits", visits)
		}
	})
}

// TestGoroutinesInCluster: a Server and a client of net/http, in tasks of two hosts. Without a
// DialContext the client is refused.
func TestGoroutinesInCluster(t *testing.T) {
	answers := 0
	sim.Config{Seeds: 20, SeedsShort: 20, Goroutines: true, Once: runtime.GOOS != "linux"}.Cluster(t, func(ctx context.Context, w *sim.World) {
		w.Host("server", func(ctx context.Context) error {
			l, err := socket.Listen(ctx, "tcp", ":80")
			if err != nil {
				return err
			}
			return httptask.Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_ = rondo.Sleep(r.Context(), time.Minute)
				_, _ = io.Copy(w, r.Body)
			}))
		})
		_ = rondo.Sleep(ctx, time.Second)
		if _, err := httptask.Client(ctx).Get("http://server/"); err == nil || !strings.Contains(err.Error(), "a DialContext that calls socket.Dial") {
			t.Errorf("Get without a DialContext returned %v", err)
		}
		base := &http.Transport{DialContext: func(asked context.Context, network, address string) (net.Conn, error) {
			both, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			defer context.AfterFunc(asked, func() { cancel(context.Cause(asked)) })()
			return socket.Dial(both, network, address)
		}}
		client := &http.Client{Transport: httptask.Transport(ctx, base)}
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range 3 {
				g.Go(func(ctx context.Context) error {
					for j := range 2 {
						if err := sendBack(ctx, client, fmt.Sprint(i, j)); err != nil {
							t.Error(err)
							continue
						}
						answers++
					}
					return nil
				})
			}
			return nil
		})
		client.CloseIdleConnections()
	})
	if answers == 0 {
		t.Error("nothing was answered")
	}
	t.Log(answers)
}

// TestTLSInCluster: a host of a cluster serves TLS. It offers no HTTP/2, which is net/http's.
func TestTLSInCluster(t *testing.T) {
	certificate, roots := certificate()
	sim.Config{Seeds: 3}.Cluster(t, func(ctx context.Context, w *sim.World) {
		cryptotest.SetGlobalRandom(t, 1) // what is sent is compared
		answer := ""
		w.Host("server", func(ctx context.Context) error {
			l, err := socket.Listen(ctx, "tcp", ":443")
			if err != nil {
				return err
			}
			s := &httptask.Server{HTTP: http.Server{
				TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
				Handler:   http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto, r.TLS.NegotiatedProtocol) }),
			}}
			return s.ServeTLS(ctx, l, "", "")
		})
		w.Host("client", func(ctx context.Context) error {
			_ = rondo.Sleep(ctx, time.Second)
			c, err := socket.DialTLS(ctx, "tcp", "server:443", &tls.Config{
				RootCAs: roots, ServerName: "example.com", NextProtos: []string{"h2", "http/1.1"},
			})
			if err != nil {
				return err
			}
			defer c.Close()
			fmt.Fprint(c, get)
			a, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				return err
			}
			b, err := io.ReadAll(a.Body)
			answer = string(b)
			return err
		})
		_ = rondo.Sleep(ctx, time.Minute)
		if answer != "HTTP/1.1http/1.1" {
			t.Errorf("the client got %q", answer)
		}
	})
}

// TestShutdownOfTwoListeners: while a request of one listener runs, a Shutdown has closed the other
// one and its idle connections.
func TestShutdownOfTwoListeners(t *testing.T) {
	sim.Config{Seeds: 3}.Cluster(t, func(ctx context.Context, w *sim.World) {
		done := false
		w.Host("server", func(ctx context.Context) error {
			var asked, free rondo.Event
			s := &httptask.Server{HTTP: http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				asked.Set()
				_ = free.Wait(r.Context())
			})}}
			var conns []net.Conn
			for _, port := range []string{":80", ":81"} {
				l, err := socket.Listen(ctx, "tcp", port)
				if err != nil {
					return err
				}
				rondo.Go(ctx, func(ctx context.Context) error { _ = s.Serve(ctx, l); return nil })
				c, err := socket.Dial(ctx, "tcp", "server"+port)
				if err != nil {
					return err
				}
				defer c.Close()
				conns = append(conns, c)
			}
			say(conns[0], get)
			_ = asked.Wait(ctx)
			down := rondo.Go(ctx, s.Shutdown)
			_, err := conns[1].Read(make([]byte, 1))
			_, refused := socket.Dial(ctx, "tcp", "server:81")
			if err != io.EOF || refused == nil {
				t.Errorf("while a request runs, the idle connection of another listener: %v; a new one: %v", err, refused)
			}
			free.Set()
			done = down.Wait(ctx) == nil
			return nil
		})
		_ = rondo.Sleep(ctx, time.Hour)
		if !done {
			t.Error("Shutdown has not returned")
		}
	})
}

// TestShutdownInHead: a client that has sent a part of a request, its first one or a later one, or
// of a handshake, and never sends the rest, does not keep a Shutdown from its end. If it sends the
// rest of its first request in time, it is answered.
func TestShutdownInHead(t *testing.T) {
	certificate, _ := certificate()
	sim.Config{Seeds: 3}.Cluster(t, func(ctx context.Context, w *sim.World) {
		cryptotest.SetGlobalRandom(t, 1)
		done := false
		w.Host("server", func(ctx context.Context) error {
			for _, sent := range []struct{ whole, part, rest, want string }{
				{part: "GET / HTTP/1.1\r\n"}, {part: "GE"}, {whole: get, part: "GE"}, {part: "\x16\x03\x01"},
				{part: "GET / HTTP/1.1\r\n", rest: "Host: h\r\n\r\n", want: "HTTP/1.1 404 Not Found"},
			} {
				s := &httptask.Server{HTTP: http.Server{Handler: http.NotFoundHandler(), WriteTimeout: 24 * time.Hour}}
				l, err := socket.Listen(ctx, "tcp", ":80")
				if err != nil {
					return err
				}
				serve := s.Serve
				if sent.part[0] == 0x16 {
					s.HTTP.ErrorLog, s.HTTP.TLSConfig = silent, &tls.Config{Certificates: []tls.Certificate{certificate}}
					serve = func(ctx context.Context, l net.Listener) error { return s.ServeTLS(ctx, l, "", "") }
				}
				served := rondo.Go(ctx, func(ctx context.Context) error { _ = serve(ctx, l); return nil })
				c, err := socket.Dial(ctx, "tcp", "server:80")
				if err != nil {
					return err
				}
				defer c.Close()
				if say(c, sent.whole); sent.whole != "" {
					a, err := http.ReadResponse(bufio.NewReader(c), nil)
					if err == nil {
						_, err = io.ReadAll(a.Body)
					}
					if err != nil {
						return err
					}
				}
				say(c, sent.part)
				_ = rondo.Sleep(ctx, time.Second)
				ended := rondo.Go(ctx, s.Shutdown)
				_ = rondo.Sleep(ctx, time.Second)
				say(c, sent.rest)
				got, err := io.ReadAll(c)
				if answer, _, _ := strings.Cut(string(got), "\r\n"); answer != sent.want || err != nil {
					t.Errorf("after %q, the client gets %q, %v", sent, got, err)
				}
				if err := ended.Wait(ctx); err != nil {
					return err
				}
				_ = served.Wait(ctx)
			}
			done = true
			return nil
		})
		_ = rondo.Sleep(ctx, time.Hour)
		if !done {
			t.Error("Shutdown has not returned")
		}
	})
}

// hijackEnds are the ways in which a Server ends that has the Grace, and how long a handler that
// has taken its connection over may go on then.
var hijackEnds = []struct {
	name  string
	grace time.Duration
	end   func(ctx context.Context, s *httptask.Server, served *rondo.Task) error
	want  time.Duration
}{
	{"cancelled", 7 * time.Second, func(_ context.Context, _ *httptask.Server, served *rondo.Task) error { served.Cancel(nil); return nil }, 7 * time.Second},
	{"cancelled, without a grace", -1, func(_ context.Context, _ *httptask.Server, served *rondo.Task) error { served.Cancel(nil); return nil }, 0},
	{"shut down", 0, func(ctx context.Context, s *httptask.Server, _ *rondo.Task) error { return s.Shutdown(ctx) }, 5 * time.Second},
	{"shut down, without a grace", -1, func(ctx context.Context, s *httptask.Server, _ *rondo.Task) error { return s.Shutdown(ctx) }, 0},
	{"shut down, with a deadline", 0, func(ctx context.Context, s *httptask.Server, _ *rondo.Task) error {
		err := rondo.Timeout(ctx, time.Minute, s.Shutdown)
		if rondo.TimedOut(ctx, err) {
			return nil
		}
		return err
	}, time.Minute},
}

// taking is what the client of hijackGrace sends: the last byte is for the one who has taken the
// connection over.
const taking = get + "x"

// hijackGrace has a handler take over the connection on which dial has sent taking. It, or a
// session that it begins, waits for a while. The Server ends meanwhile.
func hijackGrace(ctx context.Context, t *testing.T, held bool, listen func() (net.Listener, error), dial func(ctx context.Context, l net.Listener) (net.Conn, error)) {
	for _, row := range hijackEnds {
		for _, wait := range []time.Duration{2 * time.Second, time.Hour} {
			var begun rondo.Event
			var asked, ended time.Time
			var waited error
			var log logbook
			s := &httptask.Server{Grace: row.grace, HTTP: http.Server{ErrorLog: newLog(&log), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				c, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				use := func(ctx context.Context, _ *bufio.Reader) error {
					defer c.Close()
					begun.Set()
					waited = rondo.Sleep(ctx, wait)
					ended = rondo.Now(ctx)
					return cmp.Or(waited, io.EOF)
				}
				if held {
					err = httptask.Session(r.Context(), use)
				} else {
					_ = use(r.Context(), nil)
				}
				if err != nil {
					t.Error(err)
				}
			})}}
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				l, err := listen()
				if err != nil {
					return err
				}
				served := rondo.Go(g, func(ctx context.Context) error { _ = s.Serve(ctx, l); return nil })
				c, err := dial(g, l)
				if err != nil {
					return err
				}
				defer c.Close()
				if err := begun.Wait(g); err != nil {
					return err
				}
				asked = rondo.Now(g)
				if err := row.end(g, s, served); err != nil {
					return err
				}
				_ = served.Wait(g)
				return nil
			})
			want, took := min(row.want, wait), ended.Sub(asked)
			if err != nil || took.Truncate(time.Second) != want || (waited == nil) != (want == wait) || waited != nil && !errors.Is(waited, http.ErrServerClosed) {
				t.Errorf("%s: %v; a handler (session: %v) that waits for %v went on for %v, want %v, and its wait returned %v", row.name, err, held, wait, took, want, waited)
			}
			if log.String() != "" {
				t.Errorf("%s, session: %v: the log has %s", row.name, held, log.String())
			}
		}
	}
}

// TestHijackGrace: a handler that has taken its connection over, and a call of a session, has the
// grace of the Server, or the time that a Shutdown has, where net/http serves and where the Server
// does. Its end is in no log.
func TestHijackGrace(t *testing.T) {
	for _, held := range []bool{false, true} {
		t.Run(fmt.Sprint("net/http, session=", held), func(t *testing.T) {
			// Once: at the instant of the end several goroutines of net/http post, in any order.
			sim.Config{Seeds: 2, Goroutines: true, Once: true}.Test(t, func(ctx context.Context) {
				hijackGrace(ctx, t, held, func() (net.Listener, error) { return newPipes(), nil }, func(ctx context.Context, l net.Listener) (c net.Conn, err error) {
					err = away(ctx, func() error {
						if c, err = l.(*pipes).dial(context.Background(), "", ""); err == nil {
							say(c, taking)
						}
						return err
					})
					return c, err
				})
			})
		})
		t.Run(fmt.Sprint("own, session=", held), func(t *testing.T) {
			sim.Config{Seeds: 2}.Cluster(t, func(ctx context.Context, w *sim.World) {
				port, done := 80, false
				w.Host("server", func(ctx context.Context) error {
					hijackGrace(ctx, t, held, func() (net.Listener, error) {
						port++
						return socket.Listen(ctx, "tcp", fmt.Sprint(":", port))
					}, func(ctx context.Context, _ net.Listener) (net.Conn, error) {
						c, err := socket.Dial(ctx, "tcp", fmt.Sprint("server:", port))
						if err == nil {
							say(c, taking)
						}
						return c, err
					})
					done = true
					return nil
				})
				_ = rondo.Sleep(ctx, 24*time.Hour)
				if !done {
					t.Error("the host has not come to its end")
				}
			})
		})
	}
}

// TestGraceSinceShutdown: behind net/http, a handler that has taken its connection over has the
// Grace from the Shutdown on, also if another request takes a part of that time.
func TestGraceSinceShutdown(t *testing.T) {
	// Shutdown of net/http looks at random times whether its connections are idle.
	sim.Config{Seeds: 1, Goroutines: true, Once: true}.Test(t, func(ctx context.Context) {
		var begun [2]rondo.Event
		var ended time.Time
		s := &httptask.Server{HTTP: http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				begun[1].Set()
				_ = rondo.Sleep(r.Context(), 3*time.Second)
				return
			}
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			begun[0].Set()
			_ = rondo.Sleep(r.Context(), time.Hour)
			ended = rondo.Now(r.Context())
		})}}
		l := newPipes()
		served := rondo.Go(ctx, func(ctx context.Context) error { _ = s.Serve(ctx, l); return nil })
		for i, path := range []string{"/", "/slow"} {
			rondo.Go(ctx, func(ctx context.Context) error {
				return away(ctx, func() error {
					c, err := l.dial(context.Background(), "", "")
					if err != nil {
						return err
					}
					defer c.Close()
					say(c, "GET "+path+" HTTP/1.1\r\nHost: h\r\n\r\n")
					_, err = io.Copy(io.Discard, c)
					return err
				})
			})
			if err := begun[i].Wait(ctx); err != nil {
				t.Error(err)
			}
		}
		asked := rondo.Now(ctx)
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		_ = served.Wait(ctx)
		if took := ended.Sub(asked).Truncate(time.Second); took != 5*time.Second {
			t.Errorf("the handler had %v", took)
		}
	})
}
