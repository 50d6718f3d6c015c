package conformance

// docs/CONFORMANCE.md is written from the comments at the tests, so the
// document says what the tests say:
//
//	go test ./internal/conformance -run TestTable -update
//
// A test called TestC150LockFIFO is in the row C-150, and the first paragraph of
// its comment is the behaviour. Paragraphs that begin with asyncio, trio or Python
// say what is different there.

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/CONFORMANCE.md")

const (
	root     = "../.."
	document = root + "/docs/CONFORMANCE.md"
)

// A section is a heading of the document, and the numbers below it.
type section struct {
	title   string
	numbers [][2]int // from, to
}

var sections = []section{
	{"Coroutines and generators", [][2]int{{1, 29}, {235, 235}}},
	{"The loop", [][2]int{{30, 46}}},
	{"Futures and tasks", [][2]int{{50, 89}, {222, 222}}},
	{"Groups", [][2]int{{90, 109}}},
	{"Timeouts and shields", [][2]int{{110, 129}, {140, 142}, {220, 221}}},
	{"Waiting for several", [][2]int{{130, 139}}},
	{"Locks and queues", [][2]int{{150, 169}, {226, 227}}},
	{"Sockets", [][2]int{{47, 49}, {170, 191}, {199, 199}, {228, 228}}},
	{"Child processes and signals", [][2]int{{192, 198}, {232, 232}}},
	{"Runs", [][2]int{{200, 219}, {231, 231}, {234, 234}, {242, 242}, {244, 244}}},
	{"Simulation", [][2]int{{229, 230}, {240, 241}, {243, 243}}},
}

// untested are the numbers without a test.
var untested = []struct {
	number int
	why    string
}{
	{32, "a loop has no stop: it ends when its main task has ended"},
	{33, "as C-032"},
	{40, "as C-032"},
	{66, "a cancellation cannot be taken back"},
	{67, "as C-066"},
	{84, "no task starts eagerly, so there is nothing to turn off"},
	{201, "only Run makes loops"},
	{202, "C-039 tests it"},
	{205, "callbacks have no ctx; a closure has its values"},
	{206, "OnError has no ctx, for the same reason"},
	{223, "a scope is a function call, so scopes cannot end out of order"},
	{247, "CI runs the tests under the race detector: those of simulations, models and inspect in their short form, and not internal/mistakes, which runs small programs in simulations"},
}

const introduction = `# Conformance

Behaviours that people who come from asyncio, trio and anyio rely on, and the test that shows each. The numbers only
name the rows; there are gaps between them. The column "elsewhere" says what is different in asyncio or trio; the
reasons are in [FROM-ASYNCIO.md](FROM-ASYNCIO.md) and [DESIGN.md](DESIGN.md).

This page is written from the comments at the tests by ` + "`go test ./internal/conformance -run TestTable -update`" + `.
`

// A shown is a test and what its comment says.
type shown struct {
	number    int
	name      string
	file      string // from the root of the repository
	behaviour string
	elsewhere string
}

// TestTable: docs/CONFORMANCE.md is what the comments at the tests say.
func TestTable(t *testing.T) {
	rows, err := readTests()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range rows {
		if s.behaviour == "" {
			t.Errorf("%s: %s has no comment", s.file, s.name)
		}
		if sectionOf(s.number) == "" {
			t.Errorf("%s: the number of %s is in no section; see table_test.go", s.file, s.name)
		}
	}
	for _, u := range untested {
		if slices.ContainsFunc(rows, func(s shown) bool { return s.number == u.number }) {
			t.Errorf("C-%03d has a test; remove it from the numbers without one", u.number)
		}
	}
	want := table(rows)
	have, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(have, want) {
		return
	}
	if !*update {
		t.Fatal("docs/CONFORMANCE.md is out of date: go test ./internal/conformance -run TestTable -update")
	}
	if err := os.WriteFile(document, want, 0o666); err != nil {
		t.Fatal(err)
	}
}

// readTests returns the numbered tests of all modules in the order of their
// numbers, and those of one number with the ones of this package first.
func readTests() (rows []shown, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || len(d.Name()) > 2 && d.Name()[0] == '.'):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		path, err = filepath.Rel(root, path)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				if s, ok := show(filepath.ToSlash(path), f); ok {
					rows = append(rows, s)
				}
			}
		}
		return nil
	})
	slices.SortStableFunc(rows, func(a, b shown) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(foreign(a), foreign(b)), cmp.Compare(a.name, b.name))
	})
	return rows, err
}

func foreign(s shown) int {
	if strings.HasPrefix(s.file, "internal/conformance/") {
		return 0
	}
	return 1
}

var (
	testName = regexp.MustCompile(`^TestC(\d{3})[A-Z]`)
	subject  = regexp.MustCompile(`^(TestC\d{3}\w*|C-\d{3}): `)
	other    = regexp.MustCompile(`^(In )?(asyncio|trio|anyio|Python)\b`)
)

// show reports whether f is a numbered test, and what its comment says.
func show(file string, f *ast.FuncDecl) (s shown, ok bool) {
	m := testName.FindStringSubmatch(f.Name.Name)
	if m == nil {
		return s, false
	}
	s.name, s.file = f.Name.Name, file
	s.number, _ = strconv.Atoi(m[1]) // three digits
	for paragraph := range strings.SplitSeq(subject.ReplaceAllString(f.Doc.Text(), ""), "\n\n") {
		paragraph = strings.Join(strings.Fields(paragraph), " ")
		if other.MatchString(paragraph) {
			s.elsewhere = sentence(s.elsewhere, paragraph)
		} else {
			s.behaviour = sentence(s.behaviour, paragraph)
		}
	}
	return s, true
}

// sentence returns text followed by next.
func sentence(text, next string) string {
	if text == "" || next == "" {
		return text + next
	}
	if word, _, _ := strings.Cut(next, " "); !strings.Contains(word, ".") { // it is no qualified name
		next = strings.ToUpper(next[:1]) + next[1:]
	}
	return text + " " + next
}

func sectionOf(number int) string {
	for _, s := range sections {
		for _, n := range s.numbers {
			if n[0] <= number && number <= n[1] {
				return s.title
			}
		}
	}
	return ""
}

// table returns the document.
func table(rows []shown) []byte {
	var out bytes.Buffer
	out.WriteString(introduction)
	for _, s := range sections {
		fmt.Fprintf(&out, "\n## %s\n\n| number | behaviour | elsewhere | test |\n| --- | --- | --- | --- |\n", s.title)
		for i := 0; i < len(rows); {
			row := rows[i]
			tests := link(row)
			for i++; i < len(rows) && rows[i].number == row.number; i++ {
				row.behaviour = sentence(row.behaviour, rows[i].behaviour)
				row.elsewhere = sentence(row.elsewhere, rows[i].elsewhere)
				tests += ", " + link(rows[i])
			}
			if sectionOf(row.number) == s.title {
				fmt.Fprintf(&out, "| C-%03d | %s | %s | %s |\n", row.number, cell(row.behaviour), cell(row.elsewhere), tests)
			}
		}
	}
	out.WriteString("\n## Without a test\n\n| number | why |\n| --- | --- |\n")
	for _, u := range untested {
		fmt.Fprintf(&out, "| C-%03d | %s |\n", u.number, u.why)
	}
	return out.Bytes()
}

func link(s shown) string { return fmt.Sprintf("[%s](../%s)", s.name, s.file) }

// cell returns text as it is written in a table.
func cell(text string) string {
	text = strings.ReplaceAll(text, "|", `\|`)
	if strings.Count(text, ". ") == 0 {
		text = strings.TrimSuffix(text, ".")
	}
	return text
}
