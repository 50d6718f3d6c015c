package main

import (
	"testing"

	child "github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/examples/seeds/internal/golden"
)

func TestMain(m *testing.M) { child.Main(m, main) }

func TestPrograms(t *testing.T) { golden.Test(t, programs) }
