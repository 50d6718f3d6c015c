package main

// The rows of httptask.Server, which serves HTTP/1 itself, beside httptask.Handler, net/http,
// and where it can answer the request, hyper. All of the servers in Go have the same ServeMux.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
)

// An httpExchange is a request of HTTP and the body that answers it.
type httpExchange struct {
	request, body string
	secure        bool // over TLS
}

// Sizes of bodies.
const (
	posted = 1 << 10
	large  = 64 << 10
)

// exchanges are what a load may ask of an HTTP server. The servers of site know all of them.
var exchanges = map[string]httpExchange{
	"hello":     {request: httpRequest, body: httpBody},
	"secure":    {request: httpRequest, body: httpBody, secure: true},
	"post":      {request: "POST /post HTTP/1.1\r\nHost: bench\r\nContent-Length: " + strconv.Itoa(posted) + "\r\n\r\n" + strings.Repeat("p", posted), body: strings.Repeat("p", posted)},
	"large":     {request: "GET /large HTTP/1.1\r\nHost: bench\r\n\r\n", body: strings.Repeat("x", large)},
	"websocket": {request: upgrade, body: greeting},
	"file":      {request: "GET /file HTTP/1.1\r\nHost: bench\r\n\r\n", body: strings.Repeat("x", large)},
}

// site returns a mux that answers every exchange, with a file in the folder.
func site(folder string) (http.Handler, error) {
	path := filepath.Join(folder, "file")
	if err := os.WriteFile(path, []byte(exchanges["file"].body), 0o600); err != nil {
		return nil, err
	}
	whole := []byte(exchanges["large"].body)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", hello)
	mux.HandleFunc("POST /post", func(w http.ResponseWriter, r *http.Request) {
		b := make([]byte, posted)
		if _, err := io.ReadFull(r.Body, b); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_, _ = w.Write(b) // the load ends its connections with a reset
	})
	mux.HandleFunc("GET /large", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(large))
		_, _ = w.Write(whole)
	})
	mux.HandleFunc("GET /file", func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Open(path)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer f.Close()
		http.ServeContent(w, r, "file.txt", time.Time{}, f)
	})
	return mux, nil
}

// serveSite returns a kind of server, which serves the handler of site by serve.
func serveSite(serve func(ctx context.Context, l net.Listener, h http.Handler) error) func(context.Context, serving) error {
	return func(ctx context.Context, _ serving) error {
		folder, err := os.MkdirTemp("", "rondo-bench")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		h, err := site(folder)
		if err != nil {
			return err
		}
		l, err := net.Listen("tcp", anyPort)
		if err != nil {
			return err
		}
		fmt.Println(l.Addr())
		return serve(ctx, l, h)
	}
}

func siteByServer(ctx context.Context, l net.Listener, h http.Handler) error {
	return rondo.Run(ctx, func(ctx context.Context) error { return httptask.Serve(ctx, l, h) })
}

func siteByHandler(ctx context.Context, l net.Listener, h http.Handler) error {
	return rondo.Run(ctx, func(ctx context.Context) error {
		h := httptask.Handler(ctx, h)
		return rondo.OffloadFunc(ctx, func(ctx context.Context) error { return siteByNetHTTP(ctx, l, h) })
	})
}

func siteByNetHTTP(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return context.Cause(ctx)
}

// siteServers are the servers in Go that know all of the exchanges.
func siteServers() []server {
	return []server{
		{"httptask-server", ownServer, true, httpInGo("site-server")},
		{"httptask-handler", inTasks, true, httpInGo("site-handler")},
		{"net-http", netHTTP, false, httpInGo("site-net-http")},
	}
}

// httpServerRows have the budgets that are wanted of httptask.Server.
func httpServerRows() []row {
	const why = "Parsing and the answer's head cost most on all sides. A handler behind net/http is a task too, so a request is handed to the loop and back."
	beside := func(ratio float64) budgets { return budgets{ownServer: {netHTTP: ratio}} }
	small := budgets{ownServer: {netHTTP: 0.68, hyperThread: 1.3}}
	var all []row
	for _, w := range []workload{
		{name: "httpserver-64", what: "HTTP, small GET by ServeMux, 64 connections", asks: "hello", conns: 64, budgets: small},
		{name: "httpserver-1000", what: "HTTP, small GET by ServeMux, 1,000 connections", asks: "hello", conns: 1000, budgets: small},
		{name: "httpserver-10000", what: "HTTP, small GET by ServeMux, 10,000 connections", asks: "hello", conns: 10_000, budgets: small},
		{name: "httpserver-post", what: "HTTP, POST of 1 KiB and as long an answer, 64 connections", asks: "post", conns: 64, budgets: beside(0.75)},
		{name: "httpserver-64k", what: "HTTP, answer of 64 KiB, 64 connections", asks: "large", conns: 64, share: 4, budgets: beside(0.95)},
		{name: "httpserver-file", what: "HTTP, file of 64 KiB by ServeContent, 64 connections", asks: "file", conns: 64, share: 4, budgets: beside(1)},
		{name: "httpserver-tls", what: "HTTP over TLS 1.3, small GET by ServeMux, 64 connections", asks: "secure", conns: 64, budgets: beside(0.80)},
		{
			name: "httpserver-open", what: "HTTP, small GET by ServeMux, 25,000/s on 100 connections", kind: "open", asks: "hello", conns: 100,
			counted: web, median: beside(1), tail: beside(1),
		},
	} {
		w.section, w.why, w.list = web, why, siteServers()
		switch w.asks {
		case "hello":
			w.list = append(w.list, hyperServer())
		case "secure":
			w.list = secureServers()
		}
		all = append(all, w.row())
	}
	return all
}

// httpIdleRows are the memory of a connection that has had one answer.
func httpIdleRows() []row {
	const why = "Behind net/http a connection keeps a goroutine and its buffers."
	return []row{
		{name: "httpserver-idle", section: memory, why: why, run: func(o options) ([]result, error) {
			return idleOf(o, "idle connection of HTTP", "hello", siteServers(), nil, map[string]float64{ownServer: 1100})
		}},
		{name: "httpserver-tls-idle", section: memory, why: why, run: func(o options) ([]result, error) {
			return idleOf(o, "idle connection of HTTP over TLS", "secure", secureServers(), budgets{ownServer: {netHTTP: 0.60}}, nil)
		}},
	}
}
