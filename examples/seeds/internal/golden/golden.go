// Package golden holds programs to what they print, which stands in the files of
// a folder testdata, one for each.
//
// No program's output may depend on the time that anything takes. So those that
// sleep do it by a clock that jumps: a loop's under package sim, in the order in
// which a real loop runs its tasks, and package time's in a bubble of
// testing/synctest.
package golden

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/rondo-go/rondo/examples/seeds/internal/program"
	"github.com/rondo-go/rondo/sim"
)

var update = flag.Bool("update", false, "write what the programs print to testdata")

// Test runs each program in a test of its own, and compares.
func Test(t *testing.T, list []program.Program) {
	named := make(map[string]bool)
	for _, p := range list {
		named[p.Name+".txt"] = true
		t.Run(p.Name, func(t *testing.T) {
			compare(t, p.Name, output(t, p))
		})
	}
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !named[f.Name()] {
			t.Errorf("testdata/%s belongs to no program", f.Name())
		}
	}
}

// output gives what p prints.
func output(t *testing.T, p program.Program) []byte {
	var w bytes.Buffer
	var err error
	switch {
	case p.Task != nil:
		// The order of choices that always takes the first: a real loop's.
		t.Setenv("RONDO_SEED", "x:")
		sim.Explore(t, func(ctx context.Context) { err = p.Task(ctx, &w) })
	case p.Sleeps:
		synctest.Test(t, func(*testing.T) { err = p.Run(&w) })
	default:
		err = p.Run(&w)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w.Bytes()
}

func compare(t *testing.T, name string, got []byte) {
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("it prints\n%s\nand not what %s says:\n%s", got, path, want)
	}
}
