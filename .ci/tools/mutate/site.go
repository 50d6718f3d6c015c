package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// mutant is one change of the source. Every mutant compiles: it is a value that is chosen when the
// code runs.
type mutant struct {
	id              int
	place, from, to string
}

func (m mutant) String() string { return m.place + " " + m.from + " -> " + m.to }

// edit puts open before a range of the source and close after it.
type edit struct {
	start, end  int
	open, close string
}

// site collects the mutants of a file.
type site struct {
	pkg     *packages.Package
	base    *token.File
	source  []byte
	first   int
	mutants []mutant
	edits   []edit // an outer one before those inside it
}

func (s *site) offset(p token.Pos) int { return s.base.Offset(p) }

func (s *site) text(n ast.Node) string {
	return strings.Join(strings.Fields(string(s.source[s.offset(n.Pos()):s.offset(n.End())])), " ")
}

// add notes a mutant of n, with open and close around it, in which %d is its number.
func (s *site) add(n ast.Node, to, open, close string) {
	id := s.first + len(s.mutants)
	at := s.pkg.Fset.Position(n.Pos())
	place := strings.TrimPrefix(at.Filename, s.pkg.Module.Dir+"/") + fmt.Sprintf(":%d:", at.Line)
	s.mutants = append(s.mutants, mutant{id, place, s.text(n), to})
	s.around(n, open, close)
}

// around adds an edit to the last mutant.
func (s *site) around(n ast.Node, open, close string) {
	last := fmt.Sprint(s.mutants[len(s.mutants)-1].id)
	number := func(text string) string { return strings.ReplaceAll(text, "%d", last) }
	s.edits = append(s.edits, edit{s.offset(n.Pos()), s.offset(n.End()), number(open), number(close)})
}

// walk visits the statements and expressions of the file, those outside first.
func (s *site) walk(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok == token.VAR
		case *ast.BlockStmt:
			s.remove(n.List)
		case *ast.CommClause:
			s.remove(n.Body)
		case *ast.CaseClause:
			s.negate(n.List...)
			s.remove(n.Body)
		case *ast.IfStmt:
			s.negate(n.Cond)
		case *ast.ForStmt:
			s.negate(n.Cond)
		case *ast.ReturnStmt:
			s.negate(n.Results...)
		case *ast.AssignStmt:
			if (n.Tok == token.ADD_ASSIGN || n.Tok == token.SUB_ASSIGN) && s.numeric(n.Lhs[0]) {
				s.add(n.Rhs[0], "-("+s.text(n.Rhs[0])+")", "mutant.Signed["+s.named(n.Lhs[0])+"](%d, ", ")")
			}
		case *ast.BinaryExpr:
			s.swap(n)
		}
		return true
	})
}

// remove has a mutant without each of the assignments, calls and increments.
func (s *site) remove(list []ast.Stmt) {
	for _, statement := range list {
		switch n := statement.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				continue
			}
			if name, ok := n.Lhs[0].(*ast.Ident); ok && name.Name == "_" {
				continue
			}
		case *ast.ExprStmt:
			if call, ok := n.X.(*ast.CallExpr); ok {
				if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "panic" {
					continue
				}
			}
		case *ast.IncDecStmt, *ast.DeferStmt:
		default:
			continue
		}
		s.add(statement, "nothing", "if !mutant.On(%d) { ", " }")
	}
}

// negate has a mutant with the opposite of each condition, but for == and !=, which swap has.
func (s *site) negate(all ...ast.Expr) {
	for _, e := range all {
		if e == nil || !types.Identical(types.Default(s.typeOf(e)), types.Typ[types.Bool]) {
			continue
		}
		if binary, ok := e.(*ast.BinaryExpr); ok && (binary.Op == token.EQL || binary.Op == token.NEQ) {
			continue
		}
		s.add(e, "!("+s.text(e)+")", "((", ") != mutant.On(%d))")
	}
}

func (s *site) typeOf(e ast.Expr) types.Type {
	if t := s.pkg.TypesInfo.TypeOf(e); t != nil {
		return t
	}
	return types.Typ[types.Invalid]
}

// numeric reports whether e is a number whose type has a name, and no type parameter.
func (s *site) numeric(e ast.Expr) bool {
	t := s.typeOf(e)
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&(types.IsInteger|types.IsFloat) != 0
}

// named is the name of e's type: a constant beside e has it only if the mutant says so.
func (s *site) named(e ast.Expr) string {
	return types.TypeString(s.typeOf(e), func(p *types.Package) string {
		if p == s.pkg.Types {
			return ""
		}
		return p.Name()
	})
}

// swap has a mutant with the operator that is easily taken for this one.
func (s *site) swap(n *ast.BinaryExpr) {
	if s.pkg.TypesInfo.Types[n].Value != nil {
		return
	}
	swapped := map[token.Token]token.Token{
		token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND, token.ADD: token.SUB,
		token.SUB: token.ADD, token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	}
	to := s.text(n.X) + " " + swapped[n.Op].String() + " " + s.text(n.Y)
	comma := func() {
		at := s.offset(n.OpPos)
		copy(s.source[at:], []byte("  ")[:len(n.Op.String())])
		s.edits = append(s.edits, edit{start: at, end: at, open: ","})
	}
	switch n.Op {
	case token.EQL, token.NEQ:
		s.add(n, to, "((", ") != mutant.On(%d))")
	case token.LAND, token.LOR:
		if !types.Identical(types.Default(s.typeOf(n)), types.Typ[types.Bool]) {
			return
		}
		// By De Morgan's law the negation of all three is the other operator, and as lazy.
		s.add(n, to, "((", ") != mutant.On(%d))")
		s.around(n.X, "((", ") != mutant.On(%d))")
		s.around(n.Y, "((", ") != mutant.On(%d))")
	case token.LSS, token.GEQ, token.LEQ, token.GTR:
		// a >= b is the opposite of a < b, and a > b of a <= b.
		call := map[token.Token]string{token.LSS: "mutant.Less(%d, ", token.LEQ: "mutant.AtMost(%d, ",
			token.GTR: "!mutant.AtMost(%d, ", token.GEQ: "!mutant.Less(%d, "}
		s.add(n, to, "("+call[n.Op], "))")
		comma()
	case token.ADD, token.SUB:
		if !s.numeric(n) {
			return
		}
		call := map[token.Token]string{token.ADD: "mutant.Sum(%d, ", token.SUB: "mutant.Difference(%d, "}
		s.add(n, to, call[n.Op], ")")
		comma()
	}
}

// apply returns the source with all edits.
func (s *site) apply() []byte {
	type insertion struct {
		at, rank, other, number int
		text                    string
	}
	var all []insertion
	for i, e := range s.edits {
		all = append(all, insertion{e.start, 1, -e.end, i, e.open}, insertion{e.end, 0, -e.start, -i, e.close})
	}
	slices.SortFunc(all, func(a, b insertion) int {
		return slices.Compare([]int{a.at, a.rank, a.other, a.number}, []int{b.at, b.rank, b.other, b.number})
	})
	var out bytes.Buffer
	at := 0
	for _, i := range all {
		out.Write(s.source[at:i.at])
		out.WriteString(i.text)
		at = i.at
	}
	out.Write(s.source[at:])
	return out.Bytes()
}
