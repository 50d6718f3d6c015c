package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/examples/internal/talk"
)

func TestMain(m *testing.M) { program.Main(m, main) }

// TestFetch has both clients fetch two pages.
func TestFetch(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(r.URL.Path))
	}))
	defer s.Close()
	p := program.Start(t, s.URL+"/four", s.URL+"/eleven")
	for _, way := range []string{"goroutines", "tasks"} {
		if got := p.Line(); got != "[5 7]" {
			t.Errorf("in %s: %s", way, got)
		}
	}
	p.End()
}

// TestNobodyListens has it fail with a sentence.
func TestNobodyListens(t *testing.T) {
	if _, errors, code := program.Start(t, "http://"+talk.Nobody).Wait(); code != 1 || !strings.Contains(errors, "connection refused") {
		t.Errorf("exit code %d: %s", code, errors)
	}
}
