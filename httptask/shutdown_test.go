package httptask_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/internal/peer"
	"github.com/rondo-go/rondo/socket"
)

// TestShutdownInHandler: a handler that shuts its own Server down would wait for itself, and so
// would a call of a session. It is told so in the log, and the Server goes on. A task of the
// program's scope may, for a handler.
func TestShutdownInHandler(t *testing.T) {
	for name, wrap := range map[string]func(net.Listener) net.Listener{
		"tasks":    func(l net.Listener) net.Listener { return l },
		"net/http": func(l net.Listener) net.Listener { return struct{ net.Listener }{l} },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(ctx context.Context) error {
				l := listen(t)
				var text bytes.Buffer
				var down *rondo.Task
				s, mux := &httptask.Server{}, http.NewServeMux()
				s.HTTP.Handler, s.HTTP.ErrorLog = mux, log.New(&text, "", 0)
				mux.HandleFunc("/wrong", func(_ http.ResponseWriter, r *http.Request) { _ = s.Shutdown(r.Context()) })
				mux.HandleFunc("/session", func(w http.ResponseWriter, r *http.Request) {
					_, _, err := http.NewResponseController(w).Hijack()
					if err := errors.Join(err, httptask.Session(r.Context(), func(ctx context.Context, _ *bufio.Reader) error { return s.Shutdown(ctx) })); err != nil {
						t.Error(err)
					}
				})
				mux.HandleFunc("/right", func(http.ResponseWriter, *http.Request) { down = rondo.Go(ctx, s.Shutdown) })
				served := rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, wrap(l)) })
				client, origin := httptask.Client(ctx), "http://"+l.Addr().String()
				if _, err := ask(ctx, client, origin+"/wrong"); err == nil {
					t.Error("the wrong handler has answered")
				}
				if err := away(ctx, func() error {
					_, err := talk(l.Addr().String(), sameRow{send: "GET /session HTTP/1.1\r\nHost: h\r\n\r\nx", closes: true})
					return err
				}); err != nil {
					return err
				}
				if _, err := ask(ctx, client, origin+"/right"); err != nil {
					return err
				}
				client.CloseIdleConnections()
				if err := served.Wait(ctx); !errors.Is(err, http.ErrServerClosed) {
					t.Errorf("Serve: %v", err)
				}
				if cure := "call it in a task of the scope around Serve"; strings.Count(text.String(), cure) < 2 {
					t.Errorf("logged %q", text.String())
				}
				return down.Wait(ctx)
			})
		})
	}
}

// TestShutdownTellsClients: an answer that begins after a Shutdown says that the connection ends.
func TestShutdownTellsClients(t *testing.T) {
	if !peer.Watches {
		return // net/http serves the connections here, and ends on a goroutine
	}
	run(t, func(ctx context.Context) error {
		l := listen(t)
		var down *rondo.Task
		s := &httptask.Server{}
		s.HTTP.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			down = rondo.Go(ctx, s.Shutdown)
			_ = rondo.Yield(r.Context())
			say(w, "bye")
		})
		served := rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) })
		c, err := socket.Dial(ctx, "tcp", l.Addr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		say(c, get)
		if got, err := io.ReadAll(c); err != nil || !strings.Contains(string(got), "\r\nConnection: close\r\n") {
			t.Errorf("the answer is %q, %v", got, err)
		}
		if err := served.Wait(ctx); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
		return down.Wait(ctx)
	})
}
