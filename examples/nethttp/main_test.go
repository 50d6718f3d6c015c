package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/examples/internal/program"
)

// TestMain gives the child the address that it is to listen at.
func TestMain(m *testing.M) {
	program.Main(m, func() {
		address = os.Args[1]
		main()
	})
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
