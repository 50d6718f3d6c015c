package main

// HTTP rows: the CPU time that a request costs a server, as for echo.
// The servers are fasthttp in tasks, fasthttp on goroutines, net/http, and hyper,
// each with the same answer. A connection is kept for all its requests.

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

const (
	httpRequest = "GET /hello HTTP/1.1\r\nHost: bench\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n"
	httpBody    = "Hello, world! Each of the servers says this, and nothing else.\n"
	httpType    = "text/plain; charset=utf-8"
)

// inTasks is a part of Rondo.
const inTasks = "net/http with its handlers in tasks"

// httpRows have servers with the same answer: those of the first row are fasthttp, net/http and
// hyper, those of the second net/http with its handlers in tasks, and alone.
func httpRows() []row {
	return []row{
		workload{
			name: "http-64", what: "HTTP, 64 connections", section: web, asks: "hello", conns: 64, list: httpServers(),
			why: "fasthttp spends most of the time on both sides. hyper is compiled without a garbage collector, and its tasks have no stacks.",
		}.row(),
		workload{
			name: "httptask-64", what: "HTTP, 64 connections", section: web, asks: "hello", conns: 64, budgets: budgets{inTasks: {netHTTP: 1.30}},
			list: []server{{"httptask", inTasks, true, httpInGo("httptask")}, {"net-http", netHTTP, false, httpInGo("net-http")}},
			why:  "The rival is the same server without Rondo. Its goroutine parses the request, hands it to the loop, and waits for the answer: two more switches between goroutines, and the task.",
		}.row(),
	}
}

// httpServers are the servers of the first row. Only the first is Rondo's.
func httpServers() []server {
	return []server{
		{"fasthttp-rondo", "fasthttp in tasks", true, httpInGo("fasthttp-rondo")},
		{"fasthttp", "fasthttp, a goroutine each", false, httpInGo("fasthttp")},
		{"net-http", netHTTP, false, httpInGo("net-http")},
		hyperServer(),
	}
}

// hyperServer answers GET /hello.
func hyperServer() server {
	return server{"hyper", hyperThread, false, func(o options, processor int, _ string, _ serving) (*process, error) {
		program, err := builtRust(o, tokioCrate, "http")
		if err != nil {
			return nil, err
		}
		return start(processor, program)
	}}
}

// hyperThread is the name of the rival in the tables.
const hyperThread = "hyper on tokio, current_thread"

// httpInGo starts this program as an HTTP server.
func httpInGo(kind string) func(options, int, string, serving) (*process, error) {
	return func(o options, processor int, row string, _ serving) (*process, error) {
		return startServer(processor, o, kind, row)
	}
}

// newFasthttp returns the server that both sides with fasthttp use.
func newFasthttp() *fasthttp.Server {
	return &fasthttp.Server{Handler: func(r *fasthttp.RequestCtx) {
		r.SetContentType(httpType)
		r.SetBodyString(httpBody)
	}}
}

func serveFasthttpRondo(ctx context.Context, _ serving) error {
	return rondo.Run(ctx, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", anyPort)
		if err != nil {
			return err
		}
		fmt.Println(l.Addr())
		server := newFasthttp()
		return socket.Serve(ctx, l, func(_ context.Context, c net.Conn) error {
			// The load ends its connections with a reset, so an error is the usual end.
			_ = server.ServeConn(c)
			return nil
		})
	})
}

func serveFasthttp(ctx context.Context, _ serving) error {
	l, err := net.Listen("tcp", anyPort)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { l.Close() })()
	fmt.Println(l.Addr())
	if err := newFasthttp().Serve(l); ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

func serveHTTPTask(ctx context.Context, _ serving) error {
	l, err := net.Listen("tcp", anyPort)
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	return siteByHandler(ctx, l, http.HandlerFunc(hello))
}

func serveNetHTTP(ctx context.Context, s serving) error {
	l, err := net.Listen("tcp", anyPort)
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	return siteByNetHTTP(ctx, l, s.hello())
}

// hello is the handler of both sides with net/http.
func hello(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", httpType)
	// The load ends its connections with a reset, so an error is the usual end.
	_, _ = io.WriteString(w, httpBody)
}

// answerSize sends the request and returns the length of the answer. All answers
// have the same length, because they differ only in the date.
func (e httpExchange) answerSize(c io.ReadWriter) (int, error) {
	if _, err := io.WriteString(c, e.request); err != nil {
		return 0, fmt.Errorf("write: %w", err)
	}
	var answer []byte
	piece := make([]byte, 4096)
	for {
		n, err := c.Read(piece)
		if err != nil || n == 0 {
			return 0, fmt.Errorf("the server sent %.200q and closed the connection: %v", answer, err)
		}
		answer = append(answer, piece[:n]...)
		head, body, ended := bytes.Cut(answer, []byte("\r\n\r\n"))
		if ended && len(body) >= len(e.body) {
			if string(body) != e.body || !bytes.HasPrefix(head, []byte("HTTP/1.1 200 OK")) && !bytes.HasPrefix(head, []byte("HTTP/1.1 101 ")) {
				return 0, fmt.Errorf("the server sent %.200q", answer)
			}
			return len(answer), nil
		}
	}
}

// A descriptor is a blocking socket.
type descriptor int

func (d descriptor) Read(p []byte) (int, error)  { return unix.Read(int(d), p) }
func (d descriptor) Write(p []byte) (int, error) { return unix.Write(int(d), p) }
