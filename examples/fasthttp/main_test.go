package main

import (
	"os"
	"testing"

	"github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/examples/internal/visits"
)

// TestMain gives the child the address that it is to listen at.
func TestMain(m *testing.M) {
	program.Main(m, func() {
		address = os.Args[1]
		main()
	})
}

func TestVisits(t *testing.T) { visits.Test(t) }
