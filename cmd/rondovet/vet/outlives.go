package vet

import (
	"go/ast"
	"go/types"
)

// A task that a handler starts with a ctx from outside goes on when the handler has
// returned, and Rondo has closed the connection or ended the answer. So it is a bug if the
// task uses one of them. One whose Task is kept may be waited for, and is not reported.

// reportOutliving reports such tasks of a handler.
func (p *program) reportOutliving(r *reporter, f *function) {
	lent := p.lent(f)
	if len(lent) == 0 {
		return
	}
	ast.Inspect(f.body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 || !p.dropped(call) {
			return true
		}
		fn := calleeOf(p.info, call)
		if fn == nil || !ours(fn.Pkg()) || nameOf(fn) != "rondo.Go" && nameOf(fn) != "rondo.Async" {
			return true
		}
		id, isName := ast.Unparen(call.Args[0]).(*ast.Ident)
		lit, isLiteral := ast.Unparen(call.Args[1]).(*ast.FuncLit)
		if !isName || !isLiteral {
			return true
		}
		ctx, ok := p.info.Uses[id].(*types.Var)
		if !ok || !isCtx(ctx.Type()) || contains(f.node, ctx.Pos()) {
			return true
		}
		for _, v := range lent {
			if uses(p.info, lit, v) {
				r.report(id, nil, "%s with %s, a ctx from outside: the task goes on when the handler has returned, and uses %s, "+
					"which is over by then: use the ctx of the handler", nameOf(fn), id.Name, v.Name())
				break
			}
		}
		return true
	})
}

// lent returns the parameters of a handler that are good until it returns.
func (p *program) lent(f *function) (lent []types.Object) {
	for _, field := range f.typ.Params.List {
		t := p.info.TypeOf(field.Type)
		if isNamed(t, "net", "Conn") || isNamed(t, "net/http", "ResponseWriter") || isNamed(t, "net/http", "Request") {
			for _, name := range field.Names {
				if v := p.info.Defs[name]; v != nil {
					lent = append(lent, v)
				}
			}
		}
	}
	return lent
}

// dropped reports whether the Task that a call returns is not kept: the call is a statement,
// or the receiver of a SetName that is one.
func (p *program) dropped(call *ast.CallExpr) bool {
	n := p.parents[call]
	if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "SetName" {
		n = p.parents[p.parents[sel]]
	}
	_, statement := n.(*ast.ExprStmt)
	return statement
}

// uses reports whether v is used in n.
func uses(info *types.Info, n ast.Node, v types.Object) (used bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && info.Uses[id] == v {
			used = true
		}
		return !used
	})
	return used
}
