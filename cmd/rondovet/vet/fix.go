package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// replace is a fix that puts text in the place of n.
func replace(message string, n ast.Node, text string) *analysis.SuggestedFix {
	return &analysis.SuggestedFix{Message: message, TextEdits: []analysis.TextEdit{{Pos: n.Pos(), End: n.End(), NewText: []byte(text)}}}
}

// file returns the file that n is in.
func (p *program) file(n ast.Node) *ast.File {
	for n != nil {
		if f, ok := n.(*ast.File); ok {
			return f
		}
		n = p.parents[n]
	}
	return nil
}

// imports reports whether the file of n imports package rondo under this name.
func (p *program) imports(n ast.Node, name string) bool {
	f := p.file(n)
	if f == nil {
		return false
	}
	for _, i := range f.Imports {
		if strings.Trim(i.Path.Value, `"`) == root {
			return i.Name == nil && name == "rondo" || i.Name != nil && i.Name.Name == name
		}
	}
	return false
}

// ctxOf returns the name of the ctx of f, or of the function around it in which it runs,
// or "".
func (p *program) ctxOf(f *function) string {
	for f != nil {
		if p.hasCtx(f) {
			if v := p.param(f); v != nil && v.Name() != "_" {
				return v.Name()
			}
			return ""
		}
		if f.roles[task] || f.roles[goroutine] || f.roles[callback] {
			return ""
		}
		f = f.outer
	}
	return ""
}

// returning is a fix of a statement that is a call: if the call fails, f returns its
// error. With ctx the name of the function changes to it, and the ctx of f is its first
// argument. It is nil if the call is no statement, or f does not return just an error.
func (p *program) returning(f *function, call *ast.CallExpr, name string, ctx bool) *analysis.SuggestedFix {
	s, ok := p.parents[call].(*ast.ExprStmt)
	if !ok || !p.returnsOneError(f.typ) || !p.imports(call, "rondo") {
		return nil
	}
	if _, ok := p.parents[s].(*ast.BlockStmt); !ok {
		if _, ok := p.parents[s].(*ast.CaseClause); !ok {
			return nil
		}
	}
	edits := []analysis.TextEdit{
		{Pos: s.Pos(), End: s.Pos(), NewText: []byte("if err := ")},
		{Pos: s.End(), End: s.End(), NewText: []byte("; err != nil {\nreturn err\n}")},
	}
	if ctx {
		c := p.ctxOf(f)
		if c == "" {
			return nil
		}
		edits[0] = analysis.TextEdit{Pos: s.Pos(), End: call.Lparen + 1, NewText: []byte("if err := " + name + c + ", ")}
	}
	return &analysis.SuggestedFix{Message: "Return the error", TextEdits: edits}
}

// returnsOneError reports whether functions of a type return an error and nothing else.
func (p *program) returnsOneError(t *ast.FuncType) bool {
	return t.Results != nil && t.Results.NumFields() == 1 && types.Identical(p.info.TypeOf(t.Results.List[0].Type), types.Universe.Lookup("error").Type())
}

// contains reports whether a position is in n.
func contains(n ast.Node, at token.Pos) bool { return n.Pos() <= at && at < n.End() }
