package main

// This file measures what it costs to run handlers of net/http in tasks: the server's
// CPU time for a request, beside net/http alone, with the same server and handler.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
)

// httpTaskRow is the row for the given number of connections.
func httpTaskRow(conns int) row {
	name := fmt.Sprintf("httptask-%d", conns)
	return row{name, func(o options) ([]result, error) { return compareHTTPTask(o, name, conns) }}
}

func compareHTTPTask(o options, name string, conns int) (found []result, err error) {
	onServer, onLoad, err := processors()
	if err != nil {
		return nil, err
	}
	var pairs []*pair
	defer func() {
		for _, s := range pairs {
			if end := s.close(); err == nil {
				err = end
			}
		}
	}()
	for _, kind := range []string{"httptask", "net-http"} {
		s := &pair{name: kind, kind: "http"}
		pairs = append(pairs, s)
		launch := func() (*process, error) { return startServer(onServer, o, kind, name) }
		if err := s.open(launch, onLoad, conns, max(conns, o.requests/4)); err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
	}
	if err := ask(o, pairs); err != nil {
		return nil, err
	}
	what := fmt.Sprintf("HTTP, handlers of net/http in tasks, %s connections, server's CPU per request", thousands(conns))
	return []result{compared(what, "net/http", 1.3, pairs[0], pairs[1])}, nil
}

func serveHTTPTask(ctx context.Context) error {
	l, err := net.Listen("tcp", anyPort)
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	return rondo.Run(ctx, func(ctx context.Context) error {
		server := &http.Server{Handler: httptask.Handler(ctx, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", httpType)
			_, _ = io.WriteString(w, httpBody)
		}))}
		defer context.AfterFunc(ctx, func() { server.Close() })()
		_, err := rondo.Offload(ctx, func(context.Context) (struct{}, error) { return struct{}{}, server.Serve(l) })
		if errors.Is(err, http.ErrServerClosed) {
			return context.Cause(ctx)
		}
		return err
	})
}
