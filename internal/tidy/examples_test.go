package tidy

import (
	"go/ast"
	"slices"
	"strings"
)

// shownDirs are the packages that users call.
var shownDirs = []string{".", "broadcast", "coro", "guest", "httptask", "inspect", "process", "shard", "signals", "sim", "slogtask", "socket"}

var examplesRule = rule{
	name: "examples",
	law:  "Each exported function of a package that users call has an Example of its name; that of NewT may be one of T, and a deprecated one needs none.",
	check: func(t *tree) (found []breach) {
		shown := make(map[string][]string) // by folder, what follows "Example" in a name
		for _, s := range t.source {
			for _, d := range s.ast.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && s.test && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Example") {
					shown[s.dir] = append(shown[s.dir], strings.TrimPrefix(f.Name.Name, "Example"))
				}
			}
		}
		seen := make(map[string]bool)
		for _, s := range t.source {
			if s.test || !slices.Contains(shownDirs, s.dir) {
				continue
			}
			for _, d := range s.ast.Decls {
				f, ok := d.(*ast.FuncDecl)
				if ok && f.Recv == nil && f.Name.IsExported() && !seen[s.dir+"."+f.Name.Name] && !hasExample(shown[s.dir], f.Name.Name) && !strings.Contains(f.Doc.Text(), "\nDeprecated: ") {
					found = append(found, breach{file: s.path, line: t.line(f.Pos()), what: "no Example of " + f.Name.Name})
				}
				if ok {
					seen[s.dir+"."+f.Name.Name] = true // for one system after the other
				}
			}
		}
		return found
	},
	bad: []sample{
		{files{"a.go": "package rondo\nfunc F() {}\n", "a_test.go": "package rondo\nfunc ExampleFarm() {}\n"}, "no Example of F"},
		{files{"sim/a.go": "package sim\nfunc NewT() {}\n", "sim/a_test.go": "package sim\nfunc ExampleTest() {}\n"}, "no Example of NewT"},
		{files{"sim/a.go": "package sim\nfunc F() {}\n", "a_test.go": "package rondo\nfunc ExampleF() {}\n"}, "no Example of F"},
	},
	good: files{
		"a.go":       "package rondo\nfunc F() {}\n\n// Old is F.\n//\n// Deprecated: use F.\nfunc Old() {}\nfunc NewT() {}\nfunc (t *T) M() {}\nfunc f() {}\nfunc NewW() {}\n",
		"a_test.go":  "package rondo\nfunc ExampleF_more() {}\nfunc ExampleNewT() {}\nfunc ExampleW() {}\n",
		"bench/a.go": "package bench\nfunc F() {}\n",
	},
}

// hasExample reports whether one of the examples is of a function or a type.
func hasExample(shown []string, name string) bool {
	made := strings.TrimPrefix(name, "New")
	return slices.ContainsFunc(shown, func(e string) bool {
		of, _, _ := strings.Cut(e, "_")
		return of == name || of == made
	})
}
