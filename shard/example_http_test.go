//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package shard_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/shard"
	"github.com/rondo-go/rondo/socket"
)

// Handlers of net/http run on all shards. Each shard counts its own visits, without a lock, and
// the total is asked of all of them.
func ExampleServe_http() {
	r := shard.Runner{Loops: 2}
	visits := make([]int, 2) // each element belongs to one shard
	mux := http.NewServeMux()
	mux.HandleFunc("GET /visit", func(_ http.ResponseWriter, r *http.Request) {
		visits[shard.Of(r.Context()).Index()]++
	})
	mux.HandleFunc("GET /total", func(w http.ResponseWriter, r *http.Request) {
		all, err := shard.Each(r.Context(), func(_ context.Context, s *shard.Shard) (int, error) { return visits[s.Index()], nil })
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		total := 0
		for _, n := range all {
			total += n
		}
		fmt.Fprint(w, "visits: ", total)
	})
	server := &httptask.Server{HTTP: http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}, Grace: time.Second}
	err := r.Run(context.Background(), func(ctx context.Context, s *shard.Shard) error {
		if s.Index() != 0 {
			return nil // serves the calls and connections that come to it
		}
		l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		rondo.Go(ctx, func(ctx context.Context) error {
			defer server.Shutdown(ctx)
			return visit(httptask.Client(ctx), "http://"+l.Addr().String())
		})
		return new(shard.ServeConfig).ServeListener(ctx, l, server)
	})
	fmt.Println(err)
	// Output:
	// visits: 4
	// http: Server closed
}

// visit visits a server four times, and prints the total.
func visit(client *http.Client, url string) error {
	defer client.CloseIdleConnections()
	for range 4 {
		if _, err := fetch(client, url+"/visit"); err != nil {
			return err
		}
	}
	total, err := fetch(client, url+"/total")
	fmt.Println(total)
	return err
}

func fetch(c *http.Client, url string) (string, error) {
	a, err := c.Get(url)
	if err != nil {
		return "", err
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	return string(b), err
}
