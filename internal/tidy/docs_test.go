package tidy

import (
	"go/ast"
	"strings"
)

var docsRule = rule{
	name: "docs",
	law: "Each package has a package comment, and each exported name a comment of its own, which begins with its name if it is a " +
		"function's. Constants and variables may share one, of their group or of the first of several lines without a gap.",
	check: func(t *tree) (found []breach) {
		commented := make(map[string]bool)
		first := make(map[string]*source)
		for _, s := range t.source {
			if s.test {
				continue
			}
			if first[s.dir] == nil {
				first[s.dir] = s
			}
			if s.ast.Doc.Text() != "" {
				commented[s.dir] = true
			}
			for _, name := range t.undocumented(s.ast) {
				found = append(found, breach{file: s.path, line: t.line(name.Pos()), what: "no comment on " + name.Name})
			}
		}
		for dir, s := range first {
			if !commented[dir] {
				found = append(found, breach{file: s.path, what: "no package comment in any file of " + dir})
			}
		}
		return found
	},
	bad: []sample{
		{files{"a.go": "package rondo\n"}, "no package comment"},
		{files{"a.go": "//go:build linux\n\npackage rondo\n"}, "no package comment"},
		{files{"a.go": docsSample + "func F() {}\n"}, "no comment on F"},
		{files{"a.go": docsSample + "//go:noinline\nfunc F() {}\n"}, "no comment on F"},
		{files{"a.go": docsSample + "func (t *T[int]) F() {}\n"}, "no comment on F"},
		{files{"a.go": docsSample + "// G is g.\nfunc F() {}\n"}, "no comment on F"},
		{files{"a.go": docsSample + "// Gets it.\nfunc (t *T[int]) G() {}\n"}, "no comment on G"},
		{files{"a.go": docsSample + "type U int\n"}, "no comment on U"},
		{files{"a.go": docsSample + "var (\n\tv = 1\n\tV = 2\n)\n"}, "no comment on V"},
		{files{"a.go": docsSample + "// These are types.\ntype (\n\tu int\n\tU int\n)\n"}, "no comment on U"},
		{files{"a.go": docsSample + "var V, w int\n"}, "no comment on V"},
		{files{"a.go": docsSample + "const (\n\t// C is c.\n\tC = 1\n\n\tD = 2\n)\n"}, "no comment on D"},
		{files{"cmd/x/a.go": "package main\n"}, "no package comment"},
	},
	good: files{
		"a.go": docsSample + "// F is f.\nfunc F() {}\nfunc f() {}\ntype u int\nfunc (u) M() {}\n// These go together.\nconst (\n\tA = 1\n\tB = 2\n)\n" +
			"var (\n\tV = 1 // v\n)\nconst (\n\t// C is c,\n\t// and D is d.\n\tC = 1\n\tD = 2\n\tE = 3\n)\n",
		"b.go":         "package rondo\n",
		"c/c_test.go":  "package c\nfunc TestC() {}\n",
		"d/testdata/a": "",
	},
}

const docsSample = "// Package rondo is a sample.\npackage rondo\n\n// T is t.\ntype T[V any] struct{}\n\n"

// undocumented returns the exported names that have no comment.
func (t *tree) undocumented(f *ast.File) (names []*ast.Ident) {
	bare := func(name *ast.Ident, groups ...*ast.CommentGroup) {
		if name.IsExported() && !said(groups...) {
			names = append(names, name)
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || ast.IsExported(receiverName(d.Recv.List[0].Type)) {
				if word, _, _ := strings.Cut(d.Doc.Text(), " "); word != d.Name.Name {
					bare(d.Name) // or it is the comment of another function
				}
			}
		case *ast.GenDecl:
			covered := -1 // the line up to which the last comment reaches
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if d.Lparen.IsValid() {
						bare(spec.Name, spec.Doc, spec.Comment)
					} else {
						bare(spec.Name, d.Doc)
					}
				case *ast.ValueSpec:
					if said(spec.Doc) || spec.Doc == nil && t.line(spec.Pos()) == covered+1 {
						covered = t.line(spec.End())
						continue
					}
					for _, name := range spec.Names {
						bare(name, d.Doc, spec.Comment)
					}
				}
			}
		}
	}
	return names
}

// said reports whether one of the comments has text other than directives.
func said(groups ...*ast.CommentGroup) bool {
	for _, g := range groups {
		if g.Text() != "" {
			return true
		}
	}
	return false
}

// receiverName returns the name of a receiver's type.
func receiverName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverName(e.X)
	case *ast.ParenExpr:
		return receiverName(e.X)
	case *ast.IndexExpr:
		return receiverName(e.X)
	case *ast.IndexListExpr:
		return receiverName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
