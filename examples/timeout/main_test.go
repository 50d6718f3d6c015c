package main

import (
	"testing"

	"github.com/rondo-go/rondo/examples/internal/program"
)

func TestMain(m *testing.M) { program.Main(m, main) }

// TestTimeout wants the mirrors that answer in time, in the order of their
// answers, and not to wait for the other one.
func TestTimeout(t *testing.T) {
	p := program.Start(t)
	if got, want := p.Line(), "[Lima Oslo] context deadline exceeded"; got != want {
		t.Errorf("it says %q, not %q", got, want)
	}
	p.End()
}
