// Package tutorial_test holds docs/TUTORIAL.md to the programs in the folders beside it.
package tutorial_test

import (
	"encoding/json"
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

// folders has the folder of each step's program. Step 5 adds a test to the program of step 4.
var folders = []string{"step1", "step2", "step3", "step4", "step4", "step6", "step7", "step8"}

// TestText wants what a step shows to be a stretch of its program, and everything in
// which the program differs from that of the step before to be shown. So a reader who
// types what is shown has the program.
func TestText(t *testing.T) {
	var before []string // the lines of the step before
	for i, text := range steps(t) {
		program := read(t, folders[i], "main.go")
		source := program
		switch i + 1 {
		case 5:
			source += read(t, "step6", "room_test.go")
		case 6: // shows the bug again
			source += read(t, "step6", "room_test.go") + read(t, "step4", "main.go")
		case 8: // has a second program, and shows it whole
			clock := read(t, "step8", "clock", "main.go")
			if !strings.Contains(text, clock) {
				t.Error("step 8 does not show its clock")
			}
			source += clock
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

// testRoom runs tests of step 6 with the program of another step.
func testRoom(t *testing.T, step, run string) (string, error) {
	t.Helper()
	file := func(step string) string {
		path, err := filepath.Abs(filepath.Join(step, "main.go"))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{file("step6"): file(step)}})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(name, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "go", "test", "-overlay", name, "-run", run, "-count=1", ".")
	c.Dir = "step6"
	c.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "RONDO_") })
	c.Env = append(c.Env, "RONDO_SIM_STORE=off") // some fail on purpose
	out, err := c.CombinedOutput()
	return string(out), err
}

// TestRoom: the test of step 5 passes with the program of step 4, and those of step 6 with
// the programs of the later steps.
func TestRoom(t *testing.T) {
	for step, run := range map[string]string{"step4": "^TestTalk$", "step7": "^(TestTalk|TestOneName)$", "step8": "^(TestTalk|TestOneName)$"} {
		if out, err := testRoom(t, step, run); err != nil {
			t.Errorf("%s: %v\n%s", step, err, out)
		}
	}
}

var seconds = regexp.MustCompile(`\d+\.\d\ds`)

// TestPlanted wants the test of step 6 to fail with the program of step 4 as the tutorial
// shows.
func TestPlanted(t *testing.T) {
	out, err := testRoom(t, "step4", "^TestOneName$")
	if err == nil {
		t.Fatalf("the planted race was not found:\n%s", out)
	}
	got := seconds.ReplaceAllString(out, "0.00s")
	for _, b := range block.FindAllStringSubmatch(steps(t)[5], -1) {
		if b[1] == "" && !strings.Contains(got, b[2]) {
			t.Errorf("it fails as\n%s\nand not as the tutorial shows:\n%s", out, b[2])
		}
	}
}
