package interop_test

// An httptask.Server with curl, by HTTP/1.1 and HTTP/2, with the router chi, and with
// coder/websocket over Hijack.

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/interop/internal/peer"
)

// servingHTTP runs body while a server runs h in tasks. With a config it speaks TLS. It
// speaks HTTP/1.1 and HTTP/2, also without TLS.
func servingHTTP(ctx context.Context, h http.Handler, config *tls.Config, body func(ctx context.Context, address string) error) error {
	s := &httptask.Server{HTTP: http.Server{Handler: h, TLSConfig: config, Protocols: new(http.Protocols)}}
	s.HTTP.Protocols.SetHTTP1(true)
	s.HTTP.Protocols.SetHTTP2(true)
	s.HTTP.Protocols.SetUnencryptedHTTP2(true)
	return whileServing(ctx, s, body)
}

// whileServing runs body while s serves, by TLS if it has a TLSConfig, and shuts s down.
func whileServing(ctx context.Context, s *httptask.Server, body func(ctx context.Context, address string) error) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	served := rondo.Go(ctx, func(ctx context.Context) error {
		if s.HTTP.TLSConfig != nil {
			return s.ServeTLS(ctx, l, "", "")
		}
		return s.Serve(ctx, l)
	})
	err = body(ctx, l.Addr().String())
	err = errors.Join(err, rondo.Timeout(ctx, 20*time.Second, s.Shutdown))
	if end := served.Wait(ctx); !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}

// newVisits returns a mux whose handlers share a map and wait.
func newVisits() http.Handler {
	visits := make(map[string]int)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /visits/{name}", func(w http.ResponseWriter, r *http.Request) {
		visits[r.PathValue("name")]++
		if err := rondo.Yield(r.Context()); err != nil {
			return
		}
		fmt.Fprintf(w, "%s %s %d\n", r.Proto, r.PathValue("name"), visits[r.PathValue("name")])
	})
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			panic(err)
		}
		_, _ = w.Write(b)
	})
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			w.(http.Flusher).Flush()
			if rondo.Sleep(r.Context(), time.Millisecond) != nil {
				return
			}
		}
	})
	mux.HandleFunc("GET /trailer", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "Sum")
		fmt.Fprintln(w, "text")
		w.Header().Set("Sum", "7")
	})
	return mux
}

// TestHTTPTaskCurl: curl sends several requests on one connection, a megabyte after
// 100-continue, and reads events and trailers; by HTTP/1.1 and by HTTP/2.
func TestHTTPTaskCurl(t *testing.T) {
	curl := peer.Need(t, "curl")
	sent := strings.Repeat("0123456789abcdef", 1<<16)
	body := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(body, []byte(sent), 0o600); err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{newCertificate(t).pair}}
	for _, v := range []struct {
		scheme, flag, proto string
		config              *tls.Config
	}{
		{"http", "--http1.1", "HTTP/1.1", nil},
		{"https", "--http1.1", "HTTP/1.1", config},
		{"https", "--http2", "HTTP/2.0", config},
	} {
		t.Run(v.scheme+v.flag, func(t *testing.T) {
			run(t, func(ctx context.Context) error {
				return servingHTTP(ctx, newVisits(), v.config, func(ctx context.Context, address string) error {
					url := v.scheme + "://" + address
					ask := func(want string, args ...string) {
						t.Helper()
						out, err := command(ctx, nil, curl, append([]string{"-sSk", v.flag}, args...)...)
						if err != nil || out != want {
							t.Errorf("%s: %.200q (%d bytes), not %.200q: %v", args, out, len(out), want, err)
						}
					}
					ask(v.proto+" a 1\n"+v.proto+" b 1\n"+v.proto+" a 2\n", url+"/visits/a", url+"/visits/b", url+"/visits/a")
					ask(sent, "-H", "Expect: 100-continue", "--data-binary", "@"+body, url+"/echo")
					ask("data: 0\n\ndata: 1\n\ndata: 2\n\n", "-N", url+"/events")
					ask("text\n", url+"/trailer")
					ask("404", "-o", os.DevNull, "-w", "%{http_code}", url+"/nowhere")
					return nil
				})
			})
		})
	}
}

// TestHTTPTaskCurlPlain: a Server with no more than a handler and a certificate speaks HTTP/2 and
// HTTP/1.1 with a curl that uses TLS. A curl that does not gets net/http's answer to that, and
// the log has a line.
func TestHTTPTaskCurlPlain(t *testing.T) {
	curl := peer.Need(t, "curl")
	var logged bytes.Buffer // no lock: all connections are the loop's
	s := &httptask.Server{HTTP: http.Server{
		Handler:   newVisits(),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{newCertificate(t).pair}},
		ErrorLog:  log.New(&logged, "", 0),
	}}
	run(t, func(ctx context.Context) error {
		return whileServing(ctx, s, func(ctx context.Context, address string) error {
			for _, v := range []struct{ scheme, flag, want string }{
				{"http", "--http1.1", "Client sent an HTTP request to an HTTPS server.\n400"},
				{"https", "--http1.1", "HTTP/1.1 a 1\n200"},
				{"https", "--http2", "HTTP/2.0 a 2\n200"},
				{"http", "--http1.1", "Client sent an HTTP request to an HTTPS server.\n400"},
			} {
				out, err := command(ctx, nil, curl, "-sSk", v.flag, "-w", "%{http_code}", v.scheme+"://"+address+"/visits/a")
				if err != nil || out != v.want {
					t.Errorf("%s %s: %q, not %q: %v", v.scheme, v.flag, out, v.want, err)
				}
			}
			return nil
		})
	})
	if n := strings.Count(logged.String(), "client sent an HTTP request to an HTTPS server\n"); n != 2 || strings.Count(logged.String(), "\n") != 2 {
		t.Errorf("%d lines of the two requests in\n%s", n, logged.String())
	}
}

// TestHTTPTaskCurlGone: a curl that leaves while its handler waits cancels it.
func TestHTTPTaskCurlGone(t *testing.T) {
	curl := peer.Need(t, "curl")
	var cause error
	var started rondo.Event
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started.Set()
		cause = rondo.Sleep(r.Context(), time.Hour)
	})
	run(t, func(ctx context.Context) error {
		return servingHTTP(ctx, h, nil, func(ctx context.Context, address string) error {
			asking := rondo.Go(ctx, func(ctx context.Context) error {
				_, err := command(ctx, nil, curl, "-sS", "http://"+address)
				return err
			})
			if err := started.Wait(ctx); err != nil {
				return err
			}
			asking.Cancel(nil)
			if asking.Wait(ctx) == nil {
				t.Error("curl got an answer")
			}
			for cause == nil {
				if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
					return err
				}
			}
			if !errors.Is(cause, context.Canceled) {
				t.Errorf("the handler's wait returned %v", cause)
			}
			return nil
		})
	})
}

// TestHTTPTaskChi: the router chi with its middleware, one of which recovers from
// panics, in tasks.
func TestHTTPTaskChi(t *testing.T) {
	visits, at := make(map[string]int), new(overlap)
	router := chi.NewRouter()
	router.Use(middleware.RequestID, middleware.Recoverer, middleware.Compress(5))
	router.Get("/visits/{name}", func(w http.ResponseWriter, r *http.Request) {
		defer at.enter()()
		visits[chi.URLParam(r, "name")]++
		at.company(t, r.Context())
		fmt.Fprint(w, middleware.GetReqID(r.Context()) != "")
	})
	router.Get("/panic", func(http.ResponseWriter, *http.Request) { panic("boom") })
	middled(t, router, func(ctx context.Context, a *asker) error {
		err := all(ctx, 20, func(ctx context.Context, i int) error {
			_, b, err := a.ask(ctx, http.MethodGet, fmt.Sprint("/visits/", i%2))
			if b != "true" {
				t.Errorf("%q", b)
			}
			return err
		})
		answer, _, failed := a.ask(ctx, http.MethodGet, "/panic")
		if failed == nil && answer.StatusCode != http.StatusInternalServerError {
			t.Errorf("a panic became %s", answer.Status)
		}
		return errors.Join(err, failed)
	})
	if visits["0"] != 10 || visits["1"] != 10 {
		t.Errorf("%v", visits)
	}
}

// TestHTTPTaskWebSocket: coder/websocket over Hijack. A task for each member of a room
// reads, and the members are told by the task that has read, without a lock.
func TestHTTPTaskWebSocket(t *testing.T) {
	const members = 10
	room := make(map[*websocket.Conn]bool)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.CloseNow()
		room[c] = true
		defer delete(room, c)
		for {
			kind, text, err := c.Read(r.Context())
			if err != nil {
				return
			}
			if err := c.Write(r.Context(), kind, append([]byte("you said "), text...)); err != nil {
				t.Error(err)
			}
		}
	})
	run(t, func(ctx context.Context) error {
		return servingHTTP(ctx, h, nil, func(ctx context.Context, address string) error {
			_, err := rondo.Offload(ctx, func(ctx context.Context) (struct{}, error) {
				conns := make([]*websocket.Conn, members)
				for i := range conns {
					c, _, err := websocket.Dial(ctx, "ws://"+address, nil)
					if err != nil {
						return struct{}{}, err
					}
					defer c.CloseNow()
					conns[i] = c
				}
				for round := range 5 {
					for i, c := range conns {
						text := fmt.Sprint(round, i)
						if err := c.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
							return struct{}{}, err
						}
					}
					for i, c := range conns {
						_, got, err := c.Read(ctx)
						if want := "you said " + fmt.Sprint(round, i); string(got) != want || err != nil {
							return struct{}{}, fmt.Errorf("%q, %w; want %q", got, err, want)
						}
					}
				}
				var err error
				for _, c := range conns {
					err = errors.Join(err, c.Close(websocket.StatusNormalClosure, "bye"))
				}
				return struct{}{}, err
			})
			if err != nil {
				return err
			}
			for len(room) > 0 {
				if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
