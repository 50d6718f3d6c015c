//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable && !race

package httptask_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
)

// An exchange is requests of a client that waits after each until the server has its connection
// idle: net/http allocates less for a request that comes before.
type exchange struct{ idle chan bool }

// server returns a server with that handler.
func (e *exchange) server(h http.HandlerFunc) http.Server {
	e.idle = make(chan bool, 1)
	return http.Server{Handler: h, ConnState: func(_ net.Conn, s http.ConnState) {
		if s == http.StateIdle {
			e.idle <- true
		}
	}}
}

// allocations returns how often a request on a connection that is kept allocates.
func (e *exchange) allocations(t *testing.T, address string) float64 {
	c := connect(t, address)
	defer c.Close()
	answer := make([]byte, 4096)
	return testing.AllocsPerRun(1000, func() {
		_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		if err == nil {
			_, err = c.Read(answer)
		}
		if err != nil {
			t.Fatal(err)
		}
		<-e.idle
	})
}

// TestScopeOfRequestIsFree: a handler that starts nothing has no second task, and a request
// allocates as often as with net/http; AllocsPerRun rounds down, so one more is allowed.
func TestScopeOfRequestIsFree(t *testing.T) {
	var e exchange
	l := listen(t)
	std := e.server(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	go std.Serve(l)
	theirs := e.allocations(t, l.Addr().String())
	_ = std.Close()

	l = listen(t)
	tasks, own := 0, 0.0
	s := &httptask.Server{HTTP: e.server(func(w http.ResponseWriter, r *http.Request) {
		if tasks == 0 {
			for _, t := range rondo.Tasks(r.Context()) {
				if strings.HasPrefix(t.Name, "conn ") {
					tasks++
				}
			}
		}
		_, _ = io.WriteString(w, "ok")
	})}
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		server := rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) })
		var err error
		own, err = rondo.Offload(ctx, func(context.Context) (float64, error) { return e.allocations(t, l.Addr().String()), nil })
		if err != nil {
			return err
		}
		if err := s.Shutdown(ctx); err != nil {
			return err
		}
		_ = server.Wait(ctx)
		return nil
	})
	if err != nil || tasks != 1 || own > theirs+1 {
		t.Errorf("%v; a request has %d tasks and allocates %v times, with net/http %v", err, tasks, own, theirs)
	}
}
