// Package tutorial_test holds docs/TUTORIAL.md to the programs in the folders beside it.
package tutorial_test

import (
	"encoding/json"
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

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	heading = regexp.MustCompile(`(?m)^## (\d)\. `)
	block   = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
)

// steps returns the text of each step of the tutorial; that of step 1 is the first.
func steps(t *testing.T) (list []string) {
	text := read(t, "..", "..", "docs", "TUTORIAL.md")
	at := heading.FindAllStringIndex(text, -1)
	for i, a := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		list = append(list, text[a[0]:end])
	}
	if len(list) != 8 {
		t.Fatalf("the tutorial has %d steps", len(list))
	}
	return list
}

// TestText wants what a step shows to be a stretch of its program, and everything in
// which the program differs from that of the step before to be shown. So a reader who
// types what is shown has the program.
func TestText(t *testing.T) {
	var before []string // the lines of the step before
	for i, text := range steps(t) {
		step := fmt.Sprintf("step%d", i+1)
		program := read(t, step, "main.go")
		source := program
		if test, err := os.ReadFile(filepath.Join(step, "room_test.go")); err == nil {
			source += string(test)
		}
		if i+1 == 6 { // step 6 shows the mistake again
			source += read(t, "step5", "main.go")
		}
		shown := ""
		for _, b := range block.FindAllStringSubmatch(text, -1) {
			if b[1] != "go" {
				continue
			}
			shown += b[2]
			if !strings.Contains(source, b[2]) {
				t.Errorf("step %d shows what is not in its folder:\n%s", i+1, b[2])
			}
		}
		lines := strings.Split(program, "\n")[1:] // without the comment that names the step
		for _, line := range lines {
			if !slices.Contains(before, line) && !strings.Contains(shown, line+"\n") {
				t.Errorf("step %d does not show the line %q", i+1, line)
			}
		}
		before = lines
	}
}

var seconds = regexp.MustCompile(`\d+\.\d\ds`)

// TestPlanted runs the test of step 6 with the program of step 5, and wants it to fail as
// the tutorial shows.
func TestPlanted(t *testing.T) {
	file := func(step string) string {
		path, err := filepath.Abs(filepath.Join(step, "main.go"))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{file("step6"): file("step5")}})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(name, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "go", "test", "-overlay", name, "-run", "^TestOneName$", "-count=1", ".")
	c.Dir = "step6"
	c.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "RONDO_") })
	c.Env = append(c.Env, "RONDO_SIM_STORE=off") // the failure is wanted here
	out, err := c.CombinedOutput()
	if err == nil {
		t.Fatalf("the planted race was not found:\n%s", out)
	}
	got := seconds.ReplaceAllString(string(out), "0.00s")
	for _, b := range block.FindAllStringSubmatch(steps(t)[5], -1) {
		if b[1] == "" && !strings.Contains(got, b[2]) {
			t.Errorf("it fails as\n%s\nand not as the tutorial shows:\n%s", out, b[2])
		}
	}
}
