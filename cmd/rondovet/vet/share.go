package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// Share reports state of tasks that goroutines write.
var Share = &analysis.Analyzer{
	Name: "rondoshare",
	Doc: "report state of tasks that goroutines write\n\n" +
		"Tasks share state without locks, because one runs at a time. A function in Offload and a goroutine run beside " +
		"them. It returns what it has made, and the task writes it.",
	URL:      page + "#rondoshare",
	Requires: []*analysis.Analyzer{tasksAnalyzer},
	Run:      runShare,
}

func runShare(pass *analysis.Pass) (any, error) {
	p := pass.ResultOf[tasksAnalyzer].(*program)
	r := newReporter(pass)
	for _, f := range p.funcs {
		if !f.roles[goroutine] || f.outer == nil || !p.unguarded(f.body, f.calls) {
			continue
		}
		how, certain := "", func(target ast.Expr, v types.Object) bool { return false }
		switch where := p.crowd(f); {
		case offloads(f.opener) && where != nil:
			how = "is written in Offload, on a goroutine, by several tasks at once: return the value, and write it in the task"
			certain = func(_ ast.Expr, v types.Object) bool { return !contains(where, v.Pos()) || p.receiver(where) == v }
		case p.loose(f) && f.outer.isTask:
			how = "is written by a goroutine while the task uses it: use rondo.Offload, which returns the value, or write it in a function for Post"
			certain = func(target ast.Expr, v types.Object) bool {
				_, field := ast.Unparen(target).(*ast.SelectorExpr)
				return !field && contains(f.outer.node, v.Pos()) && p.usedAfter(f, v)
			}
		}
		said := false
		p.writes(f, func(n ast.Node, target ast.Expr, v types.Object) {
			if !said && certain(target, v) {
				said = true
				r.report(n, nil, "%s %s", types.ExprString(target), how)
			}
		})
	}
	return nil, nil
}

// loose reports whether nobody is told when a function has returned: it is in a go statement, or
// time.AfterFunc calls it.
func (p *program) loose(f *function) bool {
	call, ok := p.parents[f.node].(*ast.CallExpr)
	if !ok {
		return false
	}
	_, started := p.parents[call].(*ast.GoStmt)
	fn := calleeOf(p.info, call)
	return started || fn != nil && idOf(fn) == "time.AfterFunc"
}

// receiver returns the receiver of a method if it is a pointer, or nil.
func (p *program) receiver(n ast.Node) types.Object {
	decl, ok := n.(*ast.FuncDecl)
	if !ok || decl.Recv == nil || len(decl.Recv.List[0].Names) == 0 {
		return nil
	}
	v := p.info.Defs[decl.Recv.List[0].Names[0]]
	if v == nil {
		return nil
	}
	if _, pointer := v.Type().(*types.Pointer); !pointer {
		return nil
	}
	return v
}

func offloads(opener *types.Func) bool {
	return opener != nil && slices.Contains([]string{"rondo.Offload", "rondo.OffloadFunc"}, nameOf(opener))
}

// crowd returns the code around an offloaded function that several tasks certainly run at the
// same time, or nil: a loop that starts a task in each round, or a handler. None of these tasks
// may have waited before, for a lock perhaps.
func (p *program) crowd(f *function) ast.Node {
	for g := f.outer; g != nil; g = g.outer {
		if !p.atOnce(g, f) {
			return nil
		}
		switch {
		case g.handler || isHandler(p.typeOf(g)) && g.roles[task]:
			return g.node
		case startsTask(g):
			return p.starting(g)
		case !g.roles[task] && g.outer == nil:
			return nil
		}
	}
	return nil
}

// typeOf returns the type of a function.
func (p *program) typeOf(f *function) types.Type {
	if f.obj != nil {
		return f.obj.Type()
	}
	return p.info.TypeOf(f.typ)
}

// starting returns the loop in which a literal is started as a task and not waited for, or nil.
func (p *program) starting(f *function) ast.Node {
	for n := p.parents[f.node]; n != nil && n != f.outer.node; n = p.parents[n] {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			for _, call := range f.outer.calls {
				if contains(n, call.Pos()) && p.mayWait(call) != "" {
					return nil
				}
			}
			return n
		}
	}
	return nil
}

// atOnce reports whether nothing that could keep other tasks away is called in g before f runs.
func (p *program) atOnce(g, f *function) bool {
	return !slices.ContainsFunc(g.calls, func(call *ast.CallExpr) bool {
		fn := calleeOf(p.info, call)
		return call.End() < f.node.Pos() && (fn == nil && !p.plain(call) || fn != nil && (fn.Pkg() == nil || fn.Pkg().Path() == "sync" || p.mayWait(call) != ""))
	})
}

// plain reports whether a call is a conversion, or of a builtin function.
func (p *program) plain(call *ast.CallExpr) bool {
	t, ok := p.info.Types[ast.Unparen(call.Fun)]
	return ok && (t.IsType() || t.IsBuiltin())
}

// unguarded reports whether a function that runs on a goroutine certainly synchronizes with no
// other: it has no channels, literals and deferred calls, no statements that are calls unless they
// are harmless, and no calls of unknown functions or of packages sync, sync/atomic and context.
func (p *program) unguarded(body ast.Node, calls []*ast.CallExpr) bool {
	alone := true
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SendStmt, *ast.SelectStmt, *ast.DeferStmt, *ast.GoStmt, *ast.FuncLit:
			alone = false
		case *ast.UnaryExpr:
			alone = alone && n.Op != token.ARROW
		case *ast.ExprStmt:
			call, ok := n.X.(*ast.CallExpr)
			alone = alone && ok && p.harmless(call)
		}
		return alone
	})
	return alone && !slices.ContainsFunc(calls, func(call *ast.CallExpr) bool {
		fn := calleeOf(p.info, call)
		return fn == nil && !p.plain(call) || fn != nil && fn.Pkg() != nil && slices.Contains([]string{"sync", "sync/atomic", "context"}, fn.Pkg().Path())
	})
}

// harmless reports whether a call, as a statement, orders nothing between goroutines: time.Sleep,
// and functions that print.
func (p *program) harmless(call *ast.CallExpr) bool {
	fn := calleeOf(p.info, call)
	return fn != nil && fn.Pkg() != nil && slices.Contains([]string{"time", "fmt", "strings", "bytes", "sort", "slices"}, fn.Pkg().Path()) && fn.Signature().Recv() == nil
}

// writes calls visit for each write in f to a variable from outside, to a field of one, or to
// an element of a map in one. Elements of slices are not for several at once.
func (p *program) writes(f *function, visit func(n ast.Node, target ast.Expr, v types.Object)) {
	see := func(n ast.Node, target ast.Expr) {
		root := ast.Unparen(target)
		for {
			switch e := root.(type) {
			case *ast.SelectorExpr:
				root = ast.Unparen(e.X)
				continue
			case *ast.IndexExpr:
				if t := p.info.TypeOf(e.X); t != nil {
					if _, ok := t.Underlying().(*types.Map); ok {
						root = ast.Unparen(e.X)
						continue
					}
				}
				return
			}
			break
		}
		id, ok := root.(*ast.Ident)
		if !ok || id.Name == "_" {
			return
		}
		if v, ok := p.info.Uses[id].(*types.Var); ok && !contains(f.node, v.Pos()) {
			visit(n, target, v)
		}
	}
	f.inspectOwn(func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, lhs := range n.Lhs {
				if n.Tok != token.DEFINE {
					see(n, lhs)
				}
			}
		case *ast.IncDecStmt:
			see(n, n.X)
		}
		return true
	})
}

// usedAfter reports whether the function around f uses a variable after f was started.
func (p *program) usedAfter(f *function, v types.Object) (used bool) {
	f.outer.inspectOwn(func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		used = used || ok && p.info.Uses[id] == v && id.Pos() > f.node.End()
		return true
	})
	return used
}
