package httptask_test

import (
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

// TestShutdownInHandler: a handler that shuts its own Server down would wait for itself. It is
// told so in the log, and the Server goes on. A task of the program's scope may, for a handler.
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
				mux.HandleFunc("/right", func(http.ResponseWriter, *http.Request) { down = rondo.Go(ctx, s.Shutdown) })
				served := rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, wrap(l)) })
				client, origin := httptask.Client(ctx), "http://"+l.Addr().String()
				if _, err := ask(ctx, client, origin+"/wrong"); err == nil {
					t.Error("the wrong handler has answered")
				}
				if _, err := ask(ctx, client, origin+"/right"); err != nil {
					return err
				}
				client.CloseIdleConnections()
				if err := served.Wait(ctx); !errors.Is(err, http.ErrServerClosed) {
					t.Errorf("Serve: %v", err)
				}
				if cure := "call it in a task of the scope around Serve"; !strings.Contains(text.String(), cure) {
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
