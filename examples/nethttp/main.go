// Command nethttp runs handlers of net/http in tasks. They share a counter without a
// lock, and may wait as tasks do.
package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

var address = "localhost:8080"

func main() {
	visits := make(map[string]int)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{name}", func(w http.ResponseWriter, r *http.Request) {
		visits[r.PathValue("name")]++
		fmt.Fprintln(w, "visits:", visits[r.PathValue("name")])
	})
	mux.HandleFunc("POST /{$}", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	})
	log.Fatal(rondo.Run(context.Background(), func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", address)
		if err != nil {
			return err
		}
		fmt.Println("listening on", l.Addr())
		return socket.Serve(ctx, l, func(ctx context.Context, c net.Conn) error { return serve(ctx, c, mux) })
	}))
}

// serve answers the requests of one connection, one after the other. It keeps an
// answer until the handler has returned, and then knows its length.
func serve(ctx context.Context, c net.Conn, h http.Handler) error {
	requests, out := bufio.NewReader(c), bufio.NewWriter(c)
	for {
		r, err := http.ReadRequest(requests)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			return err
		}
		r = r.WithContext(ctx)
		r.RemoteAddr = c.RemoteAddr().String()
		if r.Header.Get("Expect") == "100-continue" {
			if _, err := io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
				return err
			}
		}
		a := &answer{header: make(http.Header)}
		h.ServeHTTP(a, r)
		// The next request begins where this one's body ends.
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return err
		}
		if err := a.write(out, r); err != nil {
			return err
		}
		// The answers to pipelined requests are sent together.
		if requests.Buffered() == 0 || r.Close {
			if err := out.Flush(); err != nil || r.Close {
				return err
			}
		}
	}
}

// An answer is an http.ResponseWriter in memory.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

// WriteHeader sets the status. It ignores 1xx, which is not the status of an answer.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= 200 {
		a.status = status
	}
}

// Write adds to the body. It refuses a body that the status does not allow: the
// client would take it for the next answer.
func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if !a.hasBody() {
		return 0, http.ErrBodyNotAllowed
	}
	return a.body.Write(p)
}

func (a *answer) hasBody() bool {
	return a.status != http.StatusNoContent && a.status != http.StatusNotModified
}

func (a *answer) write(w *bufio.Writer, r *http.Request) error {
	a.WriteHeader(http.StatusOK)
	fmt.Fprintf(w, "HTTP/1.1 %d %s\r\n", a.status, http.StatusText(a.status))
	if a.body.Len() > 0 && a.header.Get("Content-Type") == "" {
		a.header.Set("Content-Type", http.DetectContentType(a.body.Bytes()))
	}
	a.header.Del("Transfer-Encoding")
	a.header.Del("Content-Length")
	if a.hasBody() {
		a.header.Set("Content-Length", strconv.Itoa(a.body.Len()))
	}
	if r.Close {
		a.header.Set("Connection", "close")
	}
	if err := a.header.Write(w); err != nil {
		return err
	}
	if _, err := w.WriteString("\r\n"); err != nil || r.Method == http.MethodHead {
		return err
	}
	_, err := a.body.WriteTo(w)
	return err
}
