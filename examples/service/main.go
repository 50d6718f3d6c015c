// Command service is a small HTTP service to copy: a shop that sells what is in stock. It has
// tests, a log, a page for operators, a graceful end, a Dockerfile and a file for CI. README.md
// says how to begin with it.
//
//	go run ./examples/service
//	curl -X POST localhost:8080/buy/tea
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/inspect"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/slogtask"
)

// A shop sells what it has in stock. Its handlers are tasks of one loop, so that the map needs no
// lock. What a handler has seen before a wait may have changed after it.
type shop struct {
	stock map[string]int
	pay   func(ctx context.Context, item string) error
}

func (s *shop) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /stock/{item}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, s.stock[r.PathValue("item")])
	})
	mux.HandleFunc("POST /buy/{item}", s.buy)
	return mux
}

func (s *shop) buy(w http.ResponseWriter, r *http.Request) {
	item := r.PathValue("item")
	if s.stock[item] == 0 {
		http.Error(w, "sold out", http.StatusConflict)
		return
	}
	s.stock[item]-- // before the wait, in which other customers run
	if err := s.pay(r.Context(), item); err != nil {
		s.stock[item]++
		slog.WarnContext(r.Context(), "not paid", "item", item, "err", err)
		http.Error(w, "not paid", http.StatusPaymentRequired)
		return
	}
	slog.InfoContext(r.Context(), "sold", "item", item, "left", s.stock[item])
	fmt.Fprintln(w, "sold")
}

// serve serves until Ctrl-C or SIGTERM, and then gives the requests that run 10 s to end.
func (s *shop) serve(ctx context.Context, l net.Listener) error {
	server := &httptask.Server{HTTP: http.Server{Handler: s.handler(), ReadHeaderTimeout: 5 * time.Second}}
	return signals.Serve(ctx, server, l, 10*time.Second)
}

func main() {
	slog.SetDefault(slog.New(slogtask.NewHandler(slog.NewTextHandler(os.Stderr, nil))))
	address, page := cmp.Or(os.Getenv("LISTEN"), "localhost:8080"), cmp.Or(os.Getenv("OPERATORS"), "localhost:8081")
	go func() { slog.Error("the page for operators", "err", http.ListenAndServe(page, inspect.Handler())) }()
	runner := rondo.Runner{Name: "shop", SlowStep: 50 * time.Millisecond}
	err := runner.Run(context.Background(), func(ctx context.Context) error {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		slog.Info("listening", "address", l.Addr())
		s := &shop{stock: map[string]int{"tea": 100}, pay: func(ctx context.Context, _ string) error {
			return rondo.Sleep(ctx, 10*time.Millisecond) // here a client of httptask calls the bank
		}}
		return s.serve(ctx, l)
	})
	if err != nil {
		log.Fatal(err)
	}
}
