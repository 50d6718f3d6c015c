package main

import (
	"bytes"
	"os"
	"testing"

	child "github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/examples/seeds/internal/bare"
	"github.com/rondo-go/rondo/examples/seeds/internal/golden"
)

func TestMain(m *testing.M) { child.Main(m, main) }

func TestPrograms(t *testing.T) { golden.Test(t, programs) }

// TestAllAtOnce wants the servers that serve everybody at once to look alike to
// the clients.
func TestAllAtOnce(t *testing.T) {
	want, err := os.ReadFile("testdata/goroutines.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{"callbacks", "waits", "delegation", "tasks"} {
		if got, err := os.ReadFile("testdata/" + step + ".txt"); err != nil || !bytes.Equal(got, want) {
			t.Errorf("to the clients of %s (%v) it looks like\n%s\nand to those of goroutines like\n%s", step, err, got, want)
		}
	}
}

// TestLong has each server send back more than the system takes at once.
func TestLong(t *testing.T) { flooded(t) }

// TestPartialWrites has the system take 999 bytes at most of each write.
func TestPartialWrites(t *testing.T) {
	bare.AtMost = 999
	defer func() { bare.AtMost = 0 }()
	flooded(t)
}

func flooded(t *testing.T) {
	t.Helper()
	for name, s := range map[string]server{
		"sequential": serveInSequence, "goroutines": serveByGoroutines, "pool": serveByPool, "callbacks": serveByCallbacks,
		"turns": serveInTurns, "waits": serveWithWaits, "delegation": serveByDelegation, "tasks": serveByTasks,
	} {
		t.Run(name, func(t *testing.T) {
			if err := s.run(1, flood); err != nil {
				t.Error(err)
			}
		})
	}
}
