// Package cookbook_test runs each program of docs/COOKBOOK.md, and the program with
// goroutines that does the same if there is one, through one test.
package cookbook_test

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/examples/internal/program"
)

func TestMain(m *testing.M) { program.Main(m, nil) }

// build builds the programs of a kind, and returns their folder. They need no debugging data.
func build(t *testing.T, kind string) string {
	t.Helper()
	to := t.TempDir()
	args := append([]string{"build", "-ldflags=-w", "-o", to + "/"}, buildFlags...)
	for _, name := range names(t, kind) {
		args = append(args, "./"+kind+"/"+name)
	}
	if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return to
}

// names returns the names of the programs of a kind.
func names(t *testing.T, kind string) (list []string) {
	files, err := filepath.Glob(kind + "/*/main.go")
	if err != nil || len(files) == 0 {
		t.Fatal("no programs", err)
	}
	for _, f := range files {
		list = append(list, filepath.Base(filepath.Dir(f)))
	}
	return list
}

// TestPrograms runs the programs of each kind.
func TestPrograms(t *testing.T) {
	for _, kind := range kinds {
		dir := build(t, kind)
		for _, name := range names(t, kind) {
			try := tries[name]
			if try == nil {
				t.Errorf("no test runs %s", name)
				continue
			}
			t.Run(path.Join(kind, name), func(t *testing.T) {
				t.Parallel()
				try(t, func(args ...string) *program.Process {
					t.Helper()
					return program.StartFile(t, filepath.Join(dir, name), args...)
				})
			})
		}
	}
}

var block = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// TestDocument wants the cookbook to show a stretch of each program, and nothing else.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "COOKBOOK.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := block.FindAllStringSubmatch(string(text), -1)
	programs := names(t, ".")
	for _, name := range programs {
		source, err := os.ReadFile(filepath.Join(name, "main.go"))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(shown, func(b []string) bool { return strings.Contains(string(source), b[1]) }) {
			t.Errorf("the cookbook shows nothing of %s as it is", name)
		}
	}
	if len(shown) != len(programs) {
		t.Errorf("the cookbook shows %d programs; there are %d", len(shown), len(programs))
	}
}
