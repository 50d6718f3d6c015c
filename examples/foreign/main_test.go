package main

import (
	"os"
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
