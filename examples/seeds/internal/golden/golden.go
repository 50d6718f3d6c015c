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
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rondo-go/rondo/examples/seeds/internal/program"
	"github.com/rondo-go/rondo/sim"
)

var update = flag.Bool("update", false, "write what the programs print to testdata")

// byHand ends the names of programs that do without Rondo what others do with it.
const byHand = "-by-hand"

// Test runs each program of a folder in a test of its own, and compares. It wants
// those that do the same to print the same, and the README to have all of them.
func Test(t *testing.T, list []program.Program) {
	var names []string
	want := make(map[string]string) // of those that -run has not left out
	for _, p := range list {
		names = append(names, p.Name)
		t.Run(p.Name, func(t *testing.T) {
			want[p.Name] = compare(t, p.Name, output(t, p))
		})
	}
	for name, text := range want {
		twin, _ := strings.CutSuffix(name, byHand)
		if other, ok := want[twin]; ok && other != text {
			t.Errorf("%s prints\n%s\nand %s prints\n%s", name, text, twin, other)
		}
	}
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !slices.Contains(names, strings.TrimSuffix(f.Name(), ".txt")) {
			t.Errorf("testdata/%s belongs to no program", f.Name())
		}
	}
	slices.Sort(names)
	if got := documented(t); !slices.Equal(got, names) {
		t.Errorf("the README has the programs\n%v\nand here are\n%v", got, names)
	}
}

var row = regexp.MustCompile(`(?m)^\| ([a-z]+(?:-[a-z]+)*(?:, [a-z]+(?:-[a-z]+)*)*) \|`)

// documented returns the programs that the README says are in this folder.
func documented(t *testing.T) (names []string) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "\n## "+filepath.Base(dir)+": ")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, m := range row.FindAllStringSubmatch(section, -1) {
		for _, name := range strings.Split(m[1], ", ") {
			if name != "program" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// output returns what p prints.
func output(t *testing.T, p program.Program) []byte {
	var w bytes.Buffer
	var err error
	switch {
	case p.Task != nil:
		// In another order it may print something else, but it must not fail.
		sim.Test(t, func(ctx context.Context) {
			if err := p.Task(ctx, io.Discard); err != nil {
				t.Error(err)
			}
		})
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

// compare compares what a program prints with what it is to print, and gives that.
func compare(t *testing.T, name string, got []byte) string {
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
	return string(want)
}
