package main

import (
	"bufio"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/examples/internal/visits"
)

// TestMain passes the child the address at which it listens.
func TestMain(m *testing.M) {
	program.Main(m, func() {
		address = os.Args[1]
		main()
	})
}

func TestVisits(t *testing.T) { visits.Test(t) }

// TestEvents: a visit is told to a client that listens, and Ctrl-C ends the program,
// with status 0, though that client stays.
func TestEvents(t *testing.T) {
	p := program.Start(t, "localhost:0")
	at, ok := strings.CutPrefix(p.Line(), "listening on ")
	if !ok {
		t.Fatal("it did not say where it listens")
	}
	defer http.DefaultClient.CloseIdleConnections()
	a, err := http.Get("http://" + at + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	events := bufio.NewReader(a.Body)
	for _, want := range []string{"data: 0\n", "data: 1\n", "data: 2\n"} {
		if got, err := events.ReadString('\n'); got != want || err != nil {
			t.Fatalf("%q, %v; want %q", got, err, want)
		}
		if _, err := events.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		v, err := http.Get("http://" + at + "/" + want[6:7])
		if err != nil {
			t.Fatal(err)
		}
		v.Body.Close()
	}
	p.Interrupt()
	if _, errors, code := p.Wait(); code != 0 {
		t.Errorf("it ended with %d: %s", code, errors)
	}
}
