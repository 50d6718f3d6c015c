package vet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A row is one of the table of mistakes in docs/VET.md.
type row struct {
	number, mistake, said, debug, check string
}

// readRows reads the table.
func readRows(t *testing.T) (rows []row) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/VET.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 7 || !regexp.MustCompile(`^ \d\d $`).MatchString(cells[1]) {
			continue
		}
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "*")
		}
		rows = append(rows, row{cells[1], cells[2], cells[3], cells[4], cells[5]})
	}
	if len(rows) != 40 {
		t.Fatalf("the table has %d rows", len(rows))
	}
	return rows
}

// build builds a program of the workspace in dir, and returns its path.
func build(t *testing.T, dir, workspace, pkg string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program.exe")
	cmd := exec.Command("go", "build", "-ldflags=-w", "-o", program, pkg)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false")
	if workspace != "" {
		cmd.Env = append(cmd.Env, "GOWORK="+workspace)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, out)
	}
	return program
}

// output collects what a program prints, and calls seen when that is all that is wanted.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	done func(text string) bool
	seen func()
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.text.Write(b)
	if o.done(o.text.String()) {
		o.seen()
	}
	return n, err
}

// place is a line of the program.
var place = regexp.MustCompile(`forty/\w+\.go:\d+`)

// atTheCall is the mistake whose message is only the error that the call returns. Any
// goroutine may call Post while the loop ends, so the error is no proof of a mistake, and
// names no line.
const atTheCall = "23"

// TestSaid: each mistake that the table says is reported at run time is, and names a line
// of the program; and one in the column of Debug is not reported without it.
func TestSaid(t *testing.T) {
	program := build(t, testdata(t), filepath.Join(testdata(t), "go.work"), "./forty")
	run := func(done func(text string) bool, args ...string) string {
		// Some hang for ever: they are ended once they have said it.
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		out := &output{done: done, seen: cancel}
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Stdout, cmd.Stderr = out, out
		_ = cmd.Run() // what counts is what it said
		return out.text.String()
	}
	for _, r := range readRows(t) {
		t.Run(r.number, func(t *testing.T) {
			t.Parallel()
			if r.said == "" && r.debug == "" && r.check == "" {
				t.Errorf("nothing finds this one: %s", r.mistake)
			}
			if r.said != "" {
				said := func(text string) bool {
					return strings.Contains(text, r.said) && (place.MatchString(text) || r.number == atTheCall)
				}
				if text := run(said, r.number); !said(text) {
					t.Errorf("%s: want %q and a line of the program, said\n%s", r.mistake, r.said, text)
				}
			}
			if r.debug != "" {
				said := func(text string) bool { return strings.Contains(text, r.debug) && place.MatchString(text) }
				if text := run(said, "-debug", r.number); !said(text) {
					t.Errorf("%s: with Debug want %q and a line of the program, said\n%s", r.mistake, r.debug, text)
				}
				// A stall of the machine must not count as a step that holds the loop.
				if text := run(func(string) bool { return false }, "-hang=-1ns", r.number); strings.Contains(text, "rondo: ") {
					t.Errorf("%s: without Debug said\n%s", r.mistake, text)
				}
			}
		})
	}
}

// TestFound: go vet with rondovet finds, in the function of each mistake, what the table
// says, and nothing in the others.
func TestFound(t *testing.T) {
	rondovet := build(t, ".", "", "github.com/rondo-go/rondo/cmd/rondovet")
	cmd := exec.Command("go", "vet", "-json", "-vettool="+rondovet, "./forty")
	cmd.Dir = testdata(t)
	cmd.Env = append(os.Environ(), "GOWORK="+filepath.Join(testdata(t), "go.work"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go vet: %v\n%s", err, out)
	}
	found := reports(t, out)
	for _, r := range readRows(t) {
		name := mistakes(t)[r.number]
		if got := strings.Join(found[name], " "); got != r.check {
			t.Errorf("%s %s: found by %q, the table says %q", r.number, r.mistake, got, r.check)
		}
		delete(found, name)
	}
	if len(found) > 0 {
		t.Errorf("also reported: %v", found)
	}
}

// reports returns which checks report something in each function, from what go vet -json
// prints.
func reports(t *testing.T, out []byte) map[string][]string {
	t.Helper()
	text := regexp.MustCompile(`(?m)^#.*`).ReplaceAll(out, nil) // the names of packages
	var packages map[string]map[string][]struct{ Posn string }
	if err := json.Unmarshal(text, &packages); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	found := make(map[string][]string)
	for check, list := range packages["example.com/mistakes/forty"] {
		for _, r := range list {
			place := regexp.MustCompile(`^(.*):(\d+):\d+$`).FindStringSubmatch(r.Posn)
			line, _ := strconv.Atoi(place[2])
			if name := functionAt(t, place[1], line); !slices.Contains(found[name], check) {
				found[name] = append(found[name], check)
			}
		}
	}
	return found
}

// functionAt returns the name of the function in a line of a file.
func functionAt(t *testing.T, file string, line int) string {
	t.Helper()
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range tree.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && fset.Position(f.Pos()).Line <= line && line <= fset.Position(f.End()).Line {
			return f.Name.Name
		}
	}
	return ""
}

// mistakes returns the name of the function for each number, as the table of the program
// has them.
func mistakes(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testdata(t), "forty", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]string)
	for _, m := range regexp.MustCompile(`"(\d\d)": (\w+),`).FindAllStringSubmatch(string(text), -1) {
		names[m[1]] = m[2]
	}
	return names
}
