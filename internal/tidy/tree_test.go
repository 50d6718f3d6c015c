package tidy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// module is the path of the root module.
const module = "github.com/rondo-go/rondo"

// outside are the folders that are modules of their own.
var outside = []string{"bench", "cmd", "examples", "interop", "nats", "nats/embed", "nats/examples", "nats/oteltask", ".ci/tools"}

// A tree is the source of the repository, or a sample of one.
type tree struct {
	fset   *token.FileSet
	text   map[string]string // what the rules read, by path from the root, with slashes
	exists map[string]bool   // every file and folder
	source []*source         // the Go files, by path

	library *library         // nil until it is needed
	checked map[string]typed // the packages that were type-checked, by folder
}

// A source is a Go file.
type source struct {
	path string // from the root, with slashes
	dir  string // "." for the root
	name string
	test bool // its name ends in _test.go
	ast  *ast.File
	err  error // of parsing
}

// newTree makes a tree of the given files.
func newTree(text files) *tree {
	t := &tree{fset: token.NewFileSet(), text: text, exists: map[string]bool{".": true}, checked: make(map[string]typed)}
	for p := range text {
		for d := p; d != "."; d = path.Dir(d) {
			t.exists[d] = true
		}
		if path.Ext(p) == ".go" && !strings.Contains("/"+p, "/testdata/") {
			t.source = append(t.source, t.parse(p))
		}
	}
	slices.SortFunc(t.source, func(a, b *source) int { return strings.Compare(a.path, b.path) })
	return t
}

func (t *tree) parse(p string) *source {
	s := &source{path: p, dir: path.Dir(p), name: path.Base(p), test: strings.HasSuffix(p, "_test.go")}
	s.ast, s.err = parser.ParseFile(t.fset, p, t.text[p], parser.ParseComments|parser.SkipObjectResolution)
	return s
}

// readRepository makes a tree of the repository, once for all tests: none changes it.
var readRepository = sync.OnceValues(func() (*tree, error) { return readTree("../..") })

// readTree makes a tree of the files below root.
func readTree(root string) (*tree, error) {
	text := make(files)
	var others []string
	var walk func(dir string) error
	walk = func(dir string) error {
		entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(dir)))
		if err != nil {
			return err
		}
		for _, e := range entries {
			p := path.Join(dir, e.Name())
			switch {
			case e.Name() == ".git":
			case e.IsDir():
				others = append(others, p)
				if err := walk(p); err != nil {
					return err
				}
			case slices.Contains([]string{".go", ".md", ".mod", ".work", ".gitignore"}, path.Ext(p)):
				b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p)))
				if err != nil {
					return err
				}
				text[p] = string(b)
			default:
				others = append(others, p)
			}
		}
		return nil
	}
	if err := walk("."); err != nil {
		return nil, err
	}
	t := newTree(text)
	for _, p := range others {
		t.exists[p] = true
	}
	return t, nil
}

func (t *tree) line(pos token.Pos) int { return t.fset.Position(pos).Line }

// in reports whether s is in one of the folders or below it.
func (s *source) in(dirs ...string) bool {
	for _, d := range dirs {
		if s.dir == d || strings.HasPrefix(s.dir, d+"/") {
			return true
		}
	}
	return false
}

// external reports whether s is a test that sees only what its package exports.
func (s *source) external() bool { return s.test && strings.HasSuffix(s.ast.Name.Name, "_test") }

// functions calls fn for each declaration of s, with the name of the function
// that it declares, or "".
func (s *source) functions(fn func(name string, d ast.Decl)) {
	for _, d := range s.ast.Decls {
		name := ""
		if f, ok := d.(*ast.FuncDecl); ok {
			name = f.Name.Name
		}
		fn(name, d)
	}
}

// imports returns the path of each import of s, by the name it has in the file.
// The last part of the path serves as the package's name.
func (s *source) imports() map[string]string {
	names := make(map[string]string)
	for _, i := range s.ast.Imports {
		p := strings.Trim(i.Path.Value, "`\"")
		name := path.Base(p)
		if strings.HasPrefix(p, "math/rand/") {
			name = "rand"
		}
		if i.Name != nil {
			name = i.Name.Name
		}
		names[name] = p
	}
	return names
}

// standard reports whether the import path is the standard library's.
func standard(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	return !strings.Contains(first, ".") && p != "C"
}
