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

// exchange returns what a request on a connection that is kept allocates.
func exchange(t *testing.T, address string) float64 {
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	answer := make([]byte, 4096)
	return testing.AllocsPerRun(200, func() {
		_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		if err == nil {
			_, err = c.Read(answer)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}

// TestScopeOfRequestIsFree: a handler that starts nothing has no second task, and a request
// allocates what it does with net/http, which makes a context for it, and the task, its name,
// the scope in place of that context, and the function that runs in it.
func TestScopeOfRequestIsFree(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	std := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })}
	go std.Serve(l)
	theirs := exchange(t, l.Addr().String())
	_ = std.Close()

	if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	tasks, own := 0, 0.0
	s := &httptask.Server{HTTP: http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if tasks == 0 {
			for _, t := range rondo.Tasks(r.Context()) {
				if strings.HasPrefix(t.Name, "conn ") {
					tasks++
				}
			}
		}
		_, _ = io.WriteString(w, "ok")
	})}}
	err = rondo.Run(t.Context(), func(ctx context.Context) error {
		server := rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) })
		own, err = rondo.Offload(ctx, func(context.Context) (float64, error) { return exchange(t, l.Addr().String()), nil })
		if err != nil {
			return err
		}
		if err := s.Shutdown(ctx); err != nil {
			return err
		}
		_ = server.Wait(ctx)
		return nil
	})
	if err != nil || tasks != 1 || own > theirs+5 {
		t.Errorf("%v; a request has %d tasks and allocates %v times, with net/http %v", err, tasks, own, theirs)
	}
}
