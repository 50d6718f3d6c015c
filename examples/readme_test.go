package examples_test

// These tests hold the documents to the code: what a document shows is a stretch
// of a file that is compiled and run, and what it names exists.

import (
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/examples/internal/program"
)

func TestMain(m *testing.M) { program.Main(m, nil) }

// read returns the text of a file of the repository.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var block = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// blocks returns the Go blocks of a Markdown text.
func blocks(text string) (list []string) {
	for _, m := range block.FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}

// TestPrograms wants what a document shows of programs to be what the tests of their
// folders run: each to its last line.
func TestPrograms(t *testing.T) {
	for document, programs := range map[string][]string{
		"README.md":    {"echo"},
		"docs/HTTP.md": {"httptask", "websocket", "fasthttp", "foreign", "fetch"},
	} {
		shown := blocks(read(t, document))
		if len(shown) != len(programs) {
			t.Fatalf("%s has %d programs, not %d", document, len(shown), len(programs))
		}
		for i, name := range programs {
			path := "examples/" + name + "/main.go"
			if text := read(t, path); !strings.HasSuffix(text, shown[i]) {
				t.Errorf("program %d of %s is not the end of %s: copy one to the other", i+1, document, path)
			}
		}
	}
}

// TestSnippets wants every snippet of the package comment and of these documents
// to be a stretch of an example that runs, but for where lines begin.
func TestSnippets(t *testing.T) {
	for _, c := range []struct {
		document, examples string
		snippets           []string
	}{
		{"doc.go", "example_test.go", packageSnippets(t)},
		{"docs/FROM-ASYNCIO.md", "examples/asyncio_test.go", blocks(read(t, "docs/FROM-ASYNCIO.md"))},
		{"docs/FROM-GOROUTINES.md", "examples/goroutines_test.go", blocks(read(t, "docs/FROM-GOROUTINES.md"))},
	} {
		if len(c.snippets) < 5 {
			t.Errorf("%s: found only %d snippets", c.document, len(c.snippets))
		}
		examples := flat(read(t, c.examples))
		for _, s := range c.snippets {
			if !strings.Contains(examples, flat(s)) {
				t.Errorf("%s has a snippet that is not in %s:\n%s", c.document, c.examples, s)
			}
		}
	}
}

// TestWhy wants every snippet of WHY-NOT-GOROUTINES.md to be a stretch of a program that
// is tested.
func TestWhy(t *testing.T) {
	source := read(t, "examples/cookbook/wschat/main.go") + read(t, "examples/cookbook/goroutines/wschat/main.go") +
		read(t, "examples/goroutines_test.go")
	shown := blocks(read(t, "docs/WHY-NOT-GOROUTINES.md"))
	if len(shown) < 3 {
		t.Errorf("found only %d snippets", len(shown))
	}
	for _, s := range shown {
		if !strings.Contains(source, s) {
			t.Errorf("a snippet is in none of the programs:\n%s", s)
		}
	}
}

// TestLibraries wants every Go block of INTEROP.md to be a stretch of a program of
// interop/libraries.
func TestLibraries(t *testing.T) {
	files, err := filepath.Glob("../interop/libraries/*.go")
	if err != nil {
		t.Fatal(err)
	}
	source := ""
	for _, f := range files {
		if !strings.HasSuffix(f, "_test.go") {
			source += read(t, strings.TrimPrefix(filepath.ToSlash(f), "../"))
		}
	}
	shown := blocks(read(t, "docs/INTEROP.md"))
	if len(shown) < 8 {
		t.Errorf("found only %d blocks", len(shown))
	}
	for _, s := range shown {
		if !strings.Contains(source, s) {
			t.Errorf("docs/INTEROP.md shows what is not in interop/libraries:\n%s", s)
		}
	}
}

// flat takes the white space off both ends of each line.
func flat(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSpace(l)
	}
	return "\n" + strings.Join(lines, "\n") + "\n"
}

// packageSnippets returns the snippets of the package comment of rondo.
func packageSnippets(t *testing.T) (list []string) {
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", read(t, "doc.go"), parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range new(comment.Parser).Parse(file.Doc.Text()).Content {
		if code, ok := b.(*comment.Code); ok {
			list = append(list, code.Text)
		}
	}
	return list
}

var (
	span  = regexp.MustCompile("`[^`]+`")
	named = regexp.MustCompile(`\b(rondo|socket|coro|sim)\.([A-Z]\w*(?:\.[A-Z]\w*)?)`)
)

// TestNames wants every name that a document has in backquotes, such as
// rondo.Task.Wait, to exist, unless its line says that it is planned.
func TestNames(t *testing.T) {
	exist := make(map[string]bool)
	for name, dir := range map[string]string{"rondo": ".", "socket": "socket", "coro": "coro", "sim": "sim"} {
		for _, e := range exported(t, dir) {
			exist[name+"."+e] = true
		}
	}
	count := 0
	for _, document := range []string{"README.md", "CHANGELOG.md", "docs/FROM-ASYNCIO.md", "docs/FROM-GOROUTINES.md", "docs/WHY-NOT-GOROUTINES.md", "docs/COMPARISON.md", "docs/COOKBOOK.md", "docs/PRODUCTION.md", "docs/ARCHITECTURE.md", "docs/HTTP.md", "docs/INTEROP.md"} {
		for i, line := range strings.Split(read(t, document), "\n") {
			if strings.Contains(strings.ToLower(line), "planned") {
				continue
			}
			for _, s := range span.FindAllString(line, -1) {
				for _, name := range named.FindAllString(s, -1) {
					count++
					if !exist[name] {
						t.Errorf("%s:%d: there is no %s", document, i+1, name)
					}
				}
			}
		}
	}
	if count < 50 {
		t.Errorf("found only %d names: the documents are not read as they should be", count)
	}
}

var file = regexp.MustCompile("`([\\w./-]+\\.(?:go|md))`")

// TestFiles wants every file that ARCHITECTURE.md names to exist, and to be
// named by its path from the root.
func TestFiles(t *testing.T) {
	named := file.FindAllStringSubmatch(read(t, "docs/ARCHITECTURE.md"), -1)
	if len(named) < 30 {
		t.Errorf("found only %d files", len(named))
	}
	for _, m := range named {
		if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
			t.Errorf("docs/ARCHITECTURE.md: %v", err)
		}
	}
}

// exported returns the exported names of the package in dir, on any system, and
// those of its types' methods and fields as Type.Name.
func exported(t *testing.T, dir string) (names []string) {
	files, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			names = append(names, declared(d)...)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(strings.Split(name, "."), func(part string) bool { return !ast.IsExported(part) })
	})
}

// declared returns the names that a declaration declares.
func declared(d ast.Decl) (names []string) {
	if f, ok := d.(*ast.FuncDecl); ok {
		if f.Recv == nil {
			return []string{f.Name.Name}
		}
		return []string{receiver(f.Recv.List[0].Type) + "." + f.Name.Name}
	}
	for _, s := range d.(*ast.GenDecl).Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			names = append(names, s.Name.Name)
			if fields, ok := s.Type.(*ast.StructType); ok {
				for _, f := range fields.Fields.List {
					for _, n := range f.Names {
						names = append(names, s.Name.Name+"."+n.Name)
					}
				}
			}
		case *ast.ValueSpec:
			for _, n := range s.Names {
				names = append(names, n.Name)
			}
		}
	}
	return names
}

// receiver returns the name of a receiver's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
