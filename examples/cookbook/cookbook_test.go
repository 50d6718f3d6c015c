// Package cookbook_test runs each program of docs/COOKBOOK.md, and the program with
// goroutines that does the same, through one test.
package cookbook_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/examples/internal/program"
)

func TestMain(m *testing.M) { program.Main(m, nil) }

// build builds the programs of a kind, and returns their folder.
func build(t *testing.T, kind string) string {
	t.Helper()
	to := t.TempDir()
	args := append([]string{"build", "-o", to + "/"}, buildFlags...)
	for _, name := range names(t) {
		dir := "./" + name
		if kind == "goroutines" {
			dir = "./goroutines/" + name
		}
		args = append(args, dir)
	}
	if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return to
}

// names returns the names of the programs.
func names(t *testing.T) (list []string) {
	files, err := filepath.Glob("*/main.go")
	if err != nil || len(files) == 0 {
		t.Fatal("no programs", err)
	}
	for _, f := range files {
		list = append(list, filepath.Dir(f))
	}
	return list
}

// TestPrograms runs the programs of each kind.
func TestPrograms(t *testing.T) {
	for _, kind := range kinds {
		dir := build(t, kind)
		for _, name := range names(t) {
			try := tries[name]
			if try == nil {
				t.Errorf("no test runs %s", name)
				continue
			}
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				try(t, func(args ...string) *program.Process {
					t.Helper()
					return program.StartFile(t, filepath.Join(dir, name), args...)
				})
			})
		}
	}
}

var (
	block   = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")
	row     = regexp.MustCompile(`(?m)^\| \[(\w+)\].*\| (\d+) \| (\d+) \|$`)
	imports = regexp.MustCompile(`(?ms)^import \(.*?^\)\n`)
)

// code counts the lines of a program without blank lines, comments and imports.
func code(text string) (n int) {
	for _, line := range strings.Split(imports.ReplaceAllString(text, ""), "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	return n
}

// TestDocument wants the cookbook to show a stretch of each program, to count its lines
// right, and each to have fewer than 60.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "COOKBOOK.md"))
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, b := range block.FindAllStringSubmatch(string(text), -1) {
		shown = append(shown, b[1])
	}
	counted := make(map[string][]string)
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		counted[m[1]] = m[2:]
	}
	for _, name := range names(t) {
		var lines []string
		for _, path := range []string{name, filepath.Join("goroutines", name)} {
			source, err := os.ReadFile(filepath.Join(path, "main.go"))
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, fmt.Sprint(code(string(source))))
			if path != name {
				continue
			}
			if n := code(string(source)); n >= 60 {
				t.Errorf("%s has %d lines", name, n)
			}
			if !slices.ContainsFunc(shown, func(block string) bool { return strings.Contains(string(source), block) }) {
				t.Errorf("the cookbook shows nothing of %s as it is", name)
			}
		}
		if !slices.Equal(counted[name], lines) {
			t.Errorf("%s has %v lines, with goroutines: the cookbook says %v", name, lines, counted[name])
		}
	}
	if len(counted) != len(names(t)) || len(shown) != len(names(t)) {
		t.Errorf("the cookbook has %d rows and shows %d programs; there are %d", len(counted), len(shown), len(names(t)))
	}
}
