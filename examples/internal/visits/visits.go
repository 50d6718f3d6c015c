// Package visits tests the examples that serve "visits: N" by HTTP.
package visits

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/examples/internal/program"
)

// Test runs the program, has 20 goroutines ask it at once, and wants every visit
// counted, and status 0 after Ctrl-C.
func Test(t *testing.T) {
	const n = 20
	p := program.Start(t, "localhost:0")
	at, ok := strings.CutPrefix(p.Line(), "listening on ")
	if !ok {
		t.Fatal("it did not say where it listens")
	}
	defer http.DefaultClient.CloseIdleConnections()
	get := func() string {
		a, err := http.Get("http://" + at + "/here")
		if err != nil {
			return err.Error()
		}
		defer a.Body.Close()
		body, err := io.ReadAll(a.Body)
		if err != nil {
			return err.Error()
		}
		return string(body)
	}
	answers := make(chan string, n)
	for range n {
		go func() { answers <- get() }()
	}
	for range n {
		if a := <-answers; !strings.HasPrefix(a, "visits: ") {
			t.Error(a)
		}
	}
	if got, want := get(), fmt.Sprintln("visits:", n+1); got != want {
		t.Errorf("%q, not %q", got, want)
	}
	p.Interrupt()
	if _, errors, code := p.Wait(); code != 0 {
		t.Errorf("it ended with %d: %s", code, errors)
	}
}
