package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// OuterCtx reports waits with the ctx of a scope around the one they are in.
var OuterCtx = &analysis.Analyzer{
	Name: "rondoctx",
	Doc: "report waits with the ctx of an outer scope, or of no loop\n\n" +
		"A Group, a Timeout, a Shield and a task hand their function a ctx. A wait with another one, from outside, " +
		"is not ended when the inner scope is cancelled, and a task of a handler that is started with one outlives " +
		"the connection.",
	URL:      page + "#rondoctx",
	Requires: []*analysis.Analyzer{tasksAnalyzer},
	Run:      runOuterCtx,
}

func runOuterCtx(pass *analysis.Pass) (any, error) {
	p := pass.ResultOf[tasksAnalyzer].(*program)
	r := newReporter(pass)
	for _, f := range p.funcs {
		if f.handler {
			p.reportOutliving(r, f)
		}
		if f.opener != nil && f.roles[task] && p.hasCtx(f) {
			p.reportOuter(pass, r, f)
		}
		for _, call := range f.calls {
			if fn := calleeOf(p.info, call); fn != nil && len(call.Args) > 0 && needsLoop(fn) && !f.elsewhere() {
				if name := p.background(call.Args[0]); name != "" {
					r.report(call.Args[0], nil, "%s with %s, which belongs to no loop: use the ctx that Run or Go hands down", nameOf(fn), name)
				}
			}
		}
	}
	return nil, nil
}

// needsLoop reports whether the ctx of a function must belong to a loop.
func needsLoop(fn *types.Func) bool {
	if fn.Pkg() != nil && fn.Pkg().Path() == root && slices.Contains([]string{"rondo.Go", "rondo.Async", "rondo.Now"}, nameOf(fn)) {
		return true
	}
	return waits(fn) || ours(fn.Pkg()) && slices.Contains([]string{"socket.Listen", "socket.ListenPacket"}, nameOf(fn))
}

// background returns how a context is made, if certainly by package context from nothing.
func (p *program) background(e ast.Expr) string {
	call, ok := p.valueOf(e).(*ast.CallExpr)
	if !ok {
		return ""
	}
	fn := calleeOf(p.info, call)
	if fn == nil {
		return ""
	}
	switch idOf(fn) {
	case "context.Background", "context.TODO":
		return nameOf(fn) + "()"
	}
	return ""
}

// A misuse is the use of an outer ctx.
type misuse struct {
	id   *ast.Ident
	call *ast.CallExpr
}

// reportOuter reports, in a literal that is a task or the body of a scope, waits with a
// ctx that is declared outside it.
func (p *program) reportOuter(pass *analysis.Pass, r *reporter, f *function) {
	inner := p.param(f)
	unused := inner == nil || inner.Name() == "_" || !p.used(f, inner)
	var found []misuse
	p.inspectInner(f, func(call *ast.CallExpr) {
		if len(call.Args) == 0 {
			return
		}
		id, ok := ast.Unparen(call.Args[0]).(*ast.Ident)
		if !ok {
			return
		}
		v, ok := p.info.Uses[id].(*types.Var)
		if ok && isCtx(v.Type()) && !contains(f.node, v.Pos()) && !p.shielded(v) && !p.setIn(f, v) && p.waitsWith(call, unused) {
			found = append(found, misuse{id, call})
		}
	})
	for i, m := range found {
		use := "the ctx of the function that " + nameOf(f.opener) + " calls"
		if inner != nil && inner.Name() != "_" {
			use = inner.Name()
		}
		var fix *analysis.SuggestedFix
		if inner != nil && inner.Name() != "_" {
			if _, o := pass.Pkg.Scope().Innermost(m.id.Pos()).LookupParent(inner.Name(), m.id.Pos()); o == inner {
				fix = replace("Use "+inner.Name(), m.id, inner.Name())
			}
		} else if i == 0 {
			fix = p.naming(f, found)
		}
		r.report(m.id, fix, "%s with %s, a ctx from outside, which the end of this %s does not reach: use %s",
			types.ExprString(m.call.Fun), m.id.Name, nameOf(f.opener), use)
	}
}

// setIn reports whether f sets a variable, perhaps to the ctx that it is given.
func (p *program) setIn(f *function, v types.Object) bool {
	return slices.ContainsFunc(p.values[v], func(value ast.Expr) bool { return value != nil && contains(f.node, value.Pos()) })
}

// inspectInner calls visit for each call in f, and in the literals in it that are handed
// no ctx of their own.
func (p *program) inspectInner(f *function, visit func(call *ast.CallExpr)) {
	ast.Inspect(f.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			g := p.byNode[n]
			return g != nil && !p.hasCtx(g) && !g.elsewhere()
		case *ast.GoStmt:
			return false
		case *ast.CallExpr:
			visit(n)
		}
		return true
	})
}

// waitsWith reports whether a call waits with the ctx it gets. If the inner ctx is not
// used at all, the outer one was certainly not meant, whatever is called.
func (p *program) waitsWith(call *ast.CallExpr, unused bool) bool {
	if p.callWaits(call) {
		return true
	}
	fn := calleeOf(p.info, call)
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	switch fn.Pkg().Path() {
	case "context", "log/slog":
		return false
	}
	if ours(fn.Pkg()) {
		return waits(fn) || fn.Name() == "Wait" && takesCtx(fn.Signature())
	}
	return unused && takesCtx(fn.Signature()) && isContext(fn.Signature().Params().At(0).Type()) && p.byObject[types.Object(fn)] == nil
}

// used reports whether f uses a variable.
func (p *program) used(f *function, v types.Object) bool {
	used := false
	ast.Inspect(f.body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && p.info.Uses[id] == v {
			used = true
		}
		return !used
	})
	return used
}

// shielded reports whether a variable is a ctx of context.WithoutCancel: it is there so
// that nothing ends the wait.
func (p *program) shielded(v types.Object) bool {
	return slices.ContainsFunc(p.values[v], p.withoutCancel)
}

// withoutCancel reports whether e is a call of context.WithoutCancel.
func (p *program) withoutCancel(e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	fn := calleeOf(p.info, call)
	return fn != nil && idOf(fn) == "context.WithoutCancel"
}

// naming is a fix that gives the parameter of f, which has no name, that of the outer ctx,
// so that all of f uses the inner one. It is nil if f has other uses of the outer one, or
// of several.
func (p *program) naming(f *function, found []misuse) *analysis.SuggestedFix {
	outer := p.info.Uses[found[0].id]
	param := f.typ.Params.List[0]
	if !types.Identical(p.info.TypeOf(param.Type), outer.Type()) {
		return nil
	}
	uses := 0
	ast.Inspect(f.body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == outer.Name() {
			uses++
		}
		return true
	})
	for _, m := range found {
		if p.info.Uses[m.id] == outer {
			uses--
		}
	}
	if uses != 0 {
		return nil
	}
	if len(param.Names) > 0 {
		return replace("Use "+outer.Name(), param.Names[0], outer.Name())
	}
	if len(f.typ.Params.List) > 1 {
		return nil // the others have no names either
	}
	return &analysis.SuggestedFix{Message: "Name the ctx",
		TextEdits: []analysis.TextEdit{{Pos: param.Pos(), End: token.NoPos, NewText: []byte(outer.Name() + " ")}}}
}
