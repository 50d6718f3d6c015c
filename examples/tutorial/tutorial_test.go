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

// The steps 4 and 5 have no folder: their program is that of step 6 with a mistake.
const (
	cure = `		m.name, r.members[name] = name, m // nothing has waited since the look at members
		m.lines.TryPut("welcome, " + name)
`
	mistake = `		if _, err := fmt.Fprintln(m.conn, "welcome,", name); err != nil {
			return err
		}
		m.name, r.members[name] = name, m
`
)

// listing returns the program of a step.
func listing(t *testing.T, step int) string {
	t.Helper()
	if step == 4 || step == 5 {
		return strings.Replace(listing(t, 6), cure, mistake, 1)
	}
	return read(t, fmt.Sprint("step", step), "main.go")
}

// TestText wants what a step shows to be a stretch of its program, and everything in
// which the program differs from that of the step before to be shown. So a reader who
// types what is shown has the program.
func TestText(t *testing.T) {
	var before []string // the lines of the step before
	for i, text := range steps(t) {
		whole := listing(t, i+1)
		source := whole
		switch i + 1 {
		case 5:
			source += read(t, "step6", "room_test.go")
		case 6: // shows the bug again
			source += read(t, "step6", "room_test.go") + listing(t, 4)
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
		lines := strings.Split(whole, "\n")[1:] // without the comment that names the step
		for _, line := range lines {
			if !slices.Contains(before, line) && !strings.Contains(shown, line+"\n") {
				t.Errorf("step %d does not show the line %q", i+1, line)
			}
		}
		before = lines
	}
}

// testRoom runs tests of step 6 with the program of another step.
func testRoom(t *testing.T, step int, run string) (string, error) {
	t.Helper()
	replaced, err := filepath.Abs(filepath.Join("step6", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	other, name := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{replaced: other}})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{other: listing(t, step), name: string(overlay)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-ldflags=-w", "-overlay", name, "-run", run, "-count=1", ".")
	c.Dir = "step6"
	c.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "RONDO_") })
	c.Env = append(c.Env, "RONDO_SIM_STORE=off") // some fail on purpose
	out, err := c.CombinedOutput()
	return string(out), err
}

// TestRoom: the test of step 5 passes with the program of step 4, and those of step 6 with
// the programs of the later steps.
func TestRoom(t *testing.T) {
	t.Parallel()
	for step, run := range map[int]string{4: "^TestTalk$", 7: "^(TestTalk|TestOneName)$", 8: "^(TestTalk|TestOneName)$"} {
		if out, err := testRoom(t, step, run); err != nil {
			t.Errorf("step %d: %v\n%s", step, err, out)
		}
	}
}

var seconds = regexp.MustCompile(`\d+\.\d\ds`)

// TestPlanted wants the test of step 6 to fail with the program of step 4 as the tutorial
// shows.
func TestPlanted(t *testing.T) {
	t.Parallel()
	out, err := testRoom(t, 4, "^TestOneName$")
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
