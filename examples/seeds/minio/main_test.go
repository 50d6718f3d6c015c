package main

import (
	"testing"

	child "github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/examples/seeds/internal/bare"
	"github.com/rondo-go/rondo/examples/seeds/internal/golden"
)

func TestMain(m *testing.M) { child.Main(m, main) }

func TestPrograms(t *testing.T) { golden.Test(t, programs) }

// TestPartialWrites has the system take three bytes at most of each write: the programs
// print the same.
func TestPartialWrites(t *testing.T) {
	bare.AtMost = 3
	defer func() { bare.AtMost = 0 }()
	golden.Test(t, programs)
}
