package main

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/examples/internal/talk"
)

// TestMain passes the child the address at which it listens.
func TestMain(m *testing.M) {
	program.Main(m, func() {
		address, pageAddress = os.Args[1], "localhost:0"
		main()
	})
}

// TestPage wants the names of the members on the page.
func TestPage(t *testing.T) {
	p := program.Start(t, "localhost:0")
	at := strings.TrimPrefix(p.Line(), "tasks at ")
	ann := talk.Dial(t, strings.TrimPrefix(p.Line(), "listening on "))
	ann.Hears("your name?")
	ann.Says("ann")
	ann.Hears("welcome, ann")
	defer http.DefaultClient.CloseIdleConnections()
	a, err := http.Get(at)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	page, err := io.ReadAll(a.Body)
	if err != nil || !strings.Contains(string(page), "ann reads") {
		t.Errorf("%v: no task on the page\n%s", err, page)
	}
}
