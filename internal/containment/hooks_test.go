//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package containment_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
)

// TestHooksOfHTTP: a panic of ConnState, in each state, or of ConnContext is reported once, and
// ends no more than its connection.
func TestHooksOfHTTP(t *testing.T) {
	const ofConnContext = http.ConnState(-1)
	for _, state := range []http.ConnState{http.StateNew, http.StateActive, http.StateIdle, http.StateClosed, ofConnContext} {
		var noticed, logged []string
		thrown := false
		s := &httptask.Server{HTTP: http.Server{
			ErrorLog: log.New(writer(func(line []byte) {
				logged = append(logged, string(line))
			}), "", 0),
			ConnState: func(_ net.Conn, now http.ConnState) {
				if now == state && !thrown {
					thrown = true
					panic("oh")
				}
			},
			ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
				if state == ofConnContext && !thrown {
					thrown = true
					panic("oh")
				}
				return ctx
			},
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "ok") }),
		}}
		request := "GET /bad HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
		if state == http.StateIdle {
			request = "GET /bad HTTP/1.1\r\nHost: x\r\n\r\n"
		}
		r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { noticed = append(noticed, err.Error()) }}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				address, err := serving(g, s.Serve, http.ErrServerClosed)
				if err != nil {
					return err
				}
				ask := asPeer(g, address, "GET /good HTTP/1.0\r\n\r\n", request, func(c net.Conn) error {
					text, err := io.ReadAll(c)
					if len(text) == 0 {
						err = errors.Join(err, errors.New("no answer"))
					}
					return err
				})
				return errors.Join(ask(g, bad), ask(g, good), s.Shutdown(g))
			})
		})
		if err != nil || !thrown || len(noticed)+len(logged) != 1 {
			t.Errorf("%v: %v; noticed %q, logged %q", state, err, noticed, logged)
		}
	}
}
