package tidy

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// A typed is a package without its tests, type-checked for this system.
type typed struct {
	files []*source
	info  *types.Info
	err   error
}

// typed type-checks the packages in the given folders. It skips a folder without Go
// files.
func (t *tree) typed(dirs ...string) (packages []typed) {
	for _, dir := range dirs {
		if p, ok := t.checked[dir]; ok {
			packages = append(packages, p)
			continue
		}
		p := typed{info: &types.Info{
			Types: make(map[ast.Expr]types.TypeAndValue),
			Defs:  make(map[*ast.Ident]types.Object),
			Uses:  make(map[*ast.Ident]types.Object),
		}}
		if p.files = t.buildable(dir); len(p.files) == 0 {
			continue
		}
		config := types.Config{Importer: libraryOf(t), Error: func(error) {}} // go on after one
		_, p.err = config.Check(importPath(dir), t.fset, parsed(p.files), p.info)
		t.checked[dir] = p
		packages = append(packages, p)
	}
	return packages
}

func importPath(dir string) string { return path.Join(module, dir) }

func parsed(files []*source) (list []*ast.File) {
	for _, s := range files {
		list = append(list, s.ast)
	}
	return list
}

// buildable returns the files of a folder that make its package on this system.
func (t *tree) buildable(dir string) (list []*source) {
	context := build.Default
	context.CgoEnabled = false
	context.OpenFile = func(name string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(t.text[path.Clean(name)])), nil
	}
	for _, s := range t.source {
		if s.dir != dir || s.test {
			continue
		}
		if ok, err := context.MatchFile(dir, s.name); ok || err != nil {
			list = append(list, s)
		}
	}
	return list
}

// A library finds what a package imports. It reads the standard library as compiled,
// and checks only the declarations of a package of the tree. Any other package is
// empty, which matters only inside functions of those packages, and nothing here
// checks them.
type library struct {
	tree     *tree
	standard types.Importer
	ours     map[string]*types.Package
}

// libraryOf returns the library of a tree, which checks each package once.
func libraryOf(t *tree) *library {
	if t.library == nil {
		t.library = newLibrary(t)
	}
	return t.library
}

func newLibrary(t *tree) *library {
	compile(t.standardImports())
	open := func(p string) (io.ReadCloser, error) {
		if compiled[p] == "" {
			return nil, fmt.Errorf("%s is not compiled", p)
		}
		return os.Open(compiled[p])
	}
	return &library{tree: t, standard: importer.ForCompiler(t.fset, "gc", open), ours: make(map[string]*types.Package)}
}

// Import is the method of types.Importer.
func (l *library) Import(p string) (*types.Package, error) {
	if p == "unsafe" {
		return types.Unsafe, nil
	}
	if standard(p) {
		return l.standard.Import(p)
	}
	if l.ours[p] == nil {
		dir, ours := dirOf(p)
		files := l.tree.buildable(dir)
		if !ours || len(files) == 0 {
			empty := types.NewPackage(p, path.Base(p))
			empty.MarkComplete()
			return empty, nil
		}
		config := types.Config{Importer: l, IgnoreFuncBodies: true, Error: func(error) {}}
		l.ours[p], _ = config.Check(p, l.tree.fset, parsed(files), nil)
	}
	return l.ours[p], nil
}

// standardImports returns what the root module imports of the standard library.
func (t *tree) standardImports() []string {
	wanted := make(map[string]bool)
	for _, s := range t.source {
		if s.test || s.in(outside...) {
			continue
		}
		for _, i := range s.ast.Imports {
			if p := strings.Trim(i.Path.Value, "`\""); standard(p) && p != "unsafe" {
				wanted[p] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(wanted))
}

// compiled has the go command's files with the compiled packages of the standard
// library. The standard library does not change between two edits, so asking the go
// command is right here.
var compiled = make(map[string]string)

func compile(packages []string) {
	packages = slices.DeleteFunc(packages, func(p string) bool { return compiled[p] != "" })
	if len(packages) == 0 {
		return
	}
	list := exec.Command("go", append([]string{"list", "-e", "-export", "-f", "{{.ImportPath}}\t{{.Export}}"}, packages...)...)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		panic(fmt.Sprintf("go list -export: %v", err))
	}
	for line := range strings.Lines(string(out)) {
		p, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		compiled[p] = file
	}
}
