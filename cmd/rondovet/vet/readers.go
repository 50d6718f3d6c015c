package vet

import (
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// Readers reports connections that two tasks read.
var Readers = &analysis.Analyzer{
	Name: "rondoreaders",
	Doc: "report a connection that two tasks read\n\n" +
		"Each gets a part of the input, in an order that nothing decides. Let one task read, and hand on what it has " +
		"read through a Queue.",
	URL:      page + "#rondoreaders",
	Requires: []*analysis.Analyzer{tasksAnalyzer},
	Run:      runReaders,
}

func runReaders(pass *analysis.Pass) (any, error) {
	p := pass.ResultOf[tasksAnalyzer].(*program)
	r := newReporter(pass)
	readers := make(map[types.Object][]*function) // the tasks that read a connection
	said := make(map[types.Object]bool)
	for _, f := range p.funcs {
		if !startsTask(f) {
			continue
		}
		p.inspectInner(f, func(call *ast.CallExpr) {
			conn := p.readBy(call)
			if conn == nil || contains(f.node, conn.Pos()) || said[conn] {
				return
			}
			for _, g := range readers[conn] {
				if !said[conn] && g != f && g.outer == f.outer && p.together(g, f) {
					said[conn] = true
					r.report(call, nil, "a second task reads %s, as the one in line %d does: each gets a part of the input: let one task read", conn.Name(), r.line(g.node.Pos()))
				}
			}
			readers[conn] = append(readers[conn], f)
		})
	}
	return nil, nil
}

// together reports whether a task, which is started by a literal, certainly may still run
// when another one is started that comes later in the same function: they are not in
// different branches, and nothing waits between them.
func (p *program) together(first, second *function) bool {
	start, ok := p.parents[first.node].(*ast.CallExpr)
	if !ok || first.outer == nil || !contains(p.block(start), second.node.Pos()) {
		return false
	}
	return !slices.ContainsFunc(first.outer.calls, func(call *ast.CallExpr) bool {
		fn := calleeOf(p.info, call)
		return (fn != nil && suspends(fn) || p.callWaits(call)) && start.Pos() <= call.End() && call.End() < second.node.Pos()
	})
}

// startsTask reports whether a literal is started as a task of its own.
func startsTask(f *function) bool {
	return f.opener != nil && slices.Contains([]string{"rondo.Go", "rondo.Async", "rondo.Scope.Go"}, nameOf(f.opener))
}

// readBy returns the connection, a variable, that a call reads or makes a reader of.
func (p *program) readBy(call *ast.CallExpr) types.Object {
	fn := calleeOf(p.info, call)
	if fn == nil || fn.Pkg() == nil {
		return nil
	}
	var conn ast.Expr
	switch id := idOf(fn); id {
	case "bufio.NewReader", "bufio.NewReaderSize", "bufio.NewScanner", "io.ReadAll", "io.ReadFull", "io.ReadAtLeast":
		conn = call.Args[0]
	case "io.Copy", "io.CopyN", "io.CopyBuffer":
		conn = call.Args[1]
	case "net.Conn.Read", root + "/socket.Conn.Read", root + "/socket.TLSConn.Read":
		if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
			conn = sel.X
		}
	}
	id, ok := conn.(*ast.Ident)
	if !ok {
		return nil
	}
	v, ok := p.info.Uses[id].(*types.Var)
	if !ok || !(isNamed(v.Type(), "net", "Conn") || isNamed(v.Type(), root+"/socket", "Conn") || isNamed(v.Type(), root+"/socket", "TLSConn")) {
		return nil
	}
	return v
}
