package main

// HTTP in front of the workers: jobs are stored, and a function is called, by any of them.

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/nats"
	"github.com/rondo-go/rondo/shard"
)

// A site is what a shard answers with.
type site struct {
	conn *nats.Conn
	js   jetstream.JetStream
}

var (
	sites [2]*site     // each belongs to its shard
	ready atomic.Int32 // how many shards are
)

// open makes a shard ready. The last one that is accepts for all.
func (t *site) open(g *rondo.Scope, s *shard.Shard) {
	if sites[s.Index()] = t; int(ready.Add(1)) == len(sites) {
		g.Go(serveHTTP)
	}
}

// serveHTTP serves on all shards until ctx is cancelled, and gives requests that run their grace.
func serveHTTP(ctx context.Context) error {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /jobs/{id}", answer(func(ctx context.Context, s *site, id string) (string, error) {
		return "stored", nats.Enqueue(ctx, s.js, "job", id, []byte(id))
	}))
	mux.HandleFunc("GET /double/{id}", answer(func(ctx context.Context, s *site, id string) (string, error) {
		return nats.Call[string, string](ctx, s.conn, "double", id)
	}))
	mux.HandleFunc("GET /here/{id}", answer(func(ctx context.Context, _ *site, id string) (string, error) {
		me := shard.Of(ctx)
		return shard.Call(ctx, me.At(1-me.Index()), func(context.Context) (string, error) { return id, nil })
	}))
	server := &httptask.Server{HTTP: http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}, Grace: 5 * time.Second}
	return shard.Serve(ctx, "tcp", *front, server)
}

// answer returns a handler that answers with the result of fn, or 503: the request may be sent to
// another worker.
func answer(fn func(ctx context.Context, s *site, id string) (string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := fn(r.Context(), sites[shard.Of(r.Context()).Index()], r.PathValue("id"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, text)
	}
}
