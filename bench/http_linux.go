package main

// This file measures what a request costs an HTTP server: CPU time, as for echo.
// The servers are fasthttp in tasks, fasthttp on goroutines, net/http, and hyper,
// each with the same answer. A connection is kept for all its requests.

import (
	"bytes"
	"context"
	"errors"
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

// httpRow is the row for the given number of connections.
func httpRow(conns int) row {
	name := fmt.Sprintf("http-%d", conns)
	return row{
		name: name, section: web,
		why: "fasthttp spends most of the time on both sides. hyper is compiled without a garbage collector, and its tasks have no stacks.",
		run: func(o options) ([]result, error) { return compareHTTP(o, name, conns) },
	}
}

// httpServers are the servers of the row. Only the first is Rondo's.
func httpServers(o options, name string, processor int) []server {
	self := func(kind string) func(options, int, string, serving) (*process, error) {
		return func(options, int, string, serving) (*process, error) { return startServer(processor, o, kind, name) }
	}
	return []server{
		{"fasthttp-rondo", "fasthttp in tasks", true, self("fasthttp-rondo")},
		{"fasthttp", "fasthttp, a goroutine each", false, self("fasthttp")},
		{"net-http", "net/http", false, self("net-http")},
		{"hyper", "hyper on tokio, current_thread", false, func(options, int, string, serving) (*process, error) {
			program, err := builtRust(o, "http")
			if err != nil {
				return nil, err
			}
			return start(processor, program)
		}},
	}
}

func compareHTTP(o options, name string, conns int) (found []result, err error) {
	onServer, onLoad, err := processors()
	if err != nil {
		return nil, err
	}
	w := workload{name: name, what: fmt.Sprintf("HTTP, %s connections", thousands(min(conns, o.conns))), kind: "http", conns: conns}
	return w.measure(o, onServer, onLoad, httpServers(o, name, onServer))
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

func serveNetHTTP(ctx context.Context, _ serving) error {
	l, err := net.Listen("tcp", anyPort)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", httpType)
		_, _ = io.WriteString(w, httpBody)
	})}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	fmt.Println(l.Addr())
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return context.Cause(ctx)
}

// answerSize sends one request and returns the length of the answer. All answers
// have the same length, because they differ only in the date.
func answerSize(fd int, request []byte) (int, error) {
	if _, err := unix.Write(fd, request); err != nil {
		return 0, fmt.Errorf("write: %w", err)
	}
	var answer []byte
	piece := make([]byte, 4096)
	for {
		n, err := unix.Read(fd, piece)
		if err != nil || n == 0 {
			return 0, fmt.Errorf("the server sent %q and closed the connection: %v", answer, err)
		}
		answer = append(answer, piece[:n]...)
		head, body, ended := bytes.Cut(answer, []byte("\r\n\r\n"))
		if ended && len(body) == len(httpBody) {
			if string(body) != httpBody || !bytes.HasPrefix(head, []byte("HTTP/1.1 200 OK")) {
				return 0, fmt.Errorf("the server sent %q", answer)
			}
			return len(answer), nil
		}
	}
}
