package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/socket"
)

// TestMain passes the child the address at which it listens.
func TestMain(m *testing.M) {
	program.Main(m, func() {
		address = os.Args[1]
		main()
	})
}

// TestNoBody: an answer whose status allows no body has none, whatever the handler
// writes, so that the answer to the next pipelined request is that request's.
func TestNoBody(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{status}", func(w http.ResponseWriter, r *http.Request) {
		status, err := strconv.Atoi(r.PathValue("status"))
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Length", "5")
		w.Header().Set("Transfer-Encoding", "chunked")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(status)
		_, err = io.WriteString(w, "hello")
		if want := map[bool]error{false: http.ErrBodyNotAllowed}[status == 200]; err != want {
			t.Errorf("%d: Write returned %v", status, err)
		}
	})
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		client, server := socket.Pipe(ctx)
		task := rondo.Go(ctx, func(ctx context.Context) error { return serve(ctx, server, mux) })
		statuses := []int{204, 200, 304, 204, 200}
		var requests strings.Builder
		for _, s := range statuses {
			fmt.Fprintf(&requests, "GET /%d HTTP/1.1\r\nHost: h\r\n\r\n", s)
		}
		if _, err := io.WriteString(client, requests.String()); err != nil {
			return err
		}
		answers := bufio.NewReader(client)
		for _, s := range statuses {
			a, err := http.ReadResponse(answers, nil)
			if err != nil {
				return err
			}
			body, err := io.ReadAll(a.Body)
			if want := map[bool]string{true: "hello"}[s == 200]; a.StatusCode != s || string(body) != want || err != nil {
				t.Errorf("to %d came %d %q: %v", s, a.StatusCode, body, err)
			}
		}
		return errors.Join(client.Close(), task.Wait(ctx))
	})
	if err != nil {
		t.Error(err)
	}
}

// TestHandlers has the client of net/http ask, and a connection that pipelines.
func TestHandlers(t *testing.T) {
	p := program.Start(t, "localhost:0")
	at, ok := strings.CutPrefix(p.Line(), "listening on ")
	if !ok {
		t.Fatal("it did not say where it listens")
	}
	defer http.DefaultClient.CloseIdleConnections()
	large := strings.Repeat("rondo ", 1<<18)
	for _, c := range []struct{ method, path, body, want string }{
		{"GET", "/a", "", "200 visits: 1\n"},
		{"GET", "/a", "", "200 visits: 2\n"},
		{"HEAD", "/a", "", "200 "},
		{"GET", "/b", "", "200 visits: 1\n"},
		{"POST", "/", large, "200 " + large},
		{"GET", "/no/such", "", "404 404 page not found\n"},
		{"DELETE", "/a", "", "405 Method Not Allowed\n"},
	} {
		q, err := http.NewRequest(c.method, "http://"+at+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		a, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(a.Body)
		a.Body.Close()
		if got := fmt.Sprintf("%d %s", a.StatusCode, body); got != c.want || err != nil {
			t.Errorf("%s %s: %.60q, not %.60q: %v", c.method, c.path, got, c.want, err)
		}
	}
	pipelined(t, at)
	p.Interrupt()
	p.Wait()
}

// pipelined sends 21 requests at once, the first of which wants no body, and the
// last of which closes.
func pipelined(t *testing.T, at string) {
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const n = 20
	text := "HEAD /p HTTP/1.1\r\nHost: h\r\n\r\n" + strings.Repeat("GET /p HTTP/1.1\r\nHost: h\r\n\r\n", n-1) + "GET /p HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(c)
	head, err := http.ReadResponse(answers, &http.Request{Method: http.MethodHead})
	if err != nil || head.ContentLength != int64(len("visits: 1\n")) {
		t.Fatalf("HEAD: %+v: %v", head, err)
	}
	for i := range n {
		a, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(a.Body)
		if want := fmt.Sprintln("visits:", i+2); string(body) != want || err != nil {
			t.Errorf("answer %d is %q: %v", i, body, err)
		}
	}
	if _, err := answers.ReadByte(); err != io.EOF {
		t.Errorf("after Connection: close came %v", err)
	}
}
