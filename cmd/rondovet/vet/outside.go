package vet

import (
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// Outside reports calls that belong into a task, made by other goroutines and callbacks.
var Outside = &analysis.Analyzer{
	Name: "rondoplace",
	Doc: "report waits in goroutines and callbacks\n\n" +
		"Only a task may wait. A goroutine, a function in Offload, and a function that time.AfterFunc calls come in " +
		"through Post, Submit or a Future. A callback of the loop starts a task.",
	URL:      page + "#rondoplace",
	Requires: []*analysis.Analyzer{tasksAnalyzer},
	Run:      runOutside,
}

const (
	noTask     = "a goroutine that is not a task"
	fromNoTask = "Post or Submit, or set a Future"
)

func runOutside(pass *analysis.Pass) (any, error) {
	p := pass.ResultOf[tasksAnalyzer].(*program)
	r := newReporter(pass)
	for _, f := range p.funcs {
		for _, call := range f.calls {
			p.reportHanded(r, call)
		}
		place, cure := "", ""
		switch {
		case !f.elsewhere() || f.obj != nil:
			continue
		case f.roles[goroutine]:
			place, cure = noTask, fromNoTask
		default:
			place, cure = "a callback, which must not wait", "Go to start a task that waits"
		}
		for _, g := range p.runsIn(f) {
			for _, call := range g.calls {
				fn := calleeOf(p.info, call)
				if _, started := p.parents[call].(*ast.GoStmt); started || fn == nil || !ours(fn.Pkg()) {
					continue
				}
				if f.roles[goroutine] && slices.Contains(blocksAlone, nameOf(fn)) {
					continue
				}
				if waits(fn) || f.roles[goroutine] && slices.Contains(loopOnly, nameOf(fn)) {
					r.report(call, nil, "%s in %s: use %s", nameOf(fn), place, cure)
				}
			}
		}
	}
	return nil, nil
}

// reportHanded reports functions of Rondo that a go statement calls, or that are handed to what
// calls them on a goroutine.
func (p *program) reportHanded(r *reporter, call *ast.CallExpr) {
	see := func(n ast.Node, fn *types.Func) {
		if fn != nil && ours(fn.Pkg()) && !slices.Contains(blocksAlone, nameOf(fn)) && (waits(fn) || slices.Contains(loopOnly, nameOf(fn))) {
			r.report(n, nil, "%s in %s: use %s", nameOf(fn), noTask, fromNoTask)
		}
	}
	fn := calleeOf(p.info, call)
	if _, started := p.parents[call].(*ast.GoStmt); started {
		see(call, fn)
	}
	if fn != nil && slices.Contains(goroutines, idOf(fn)) {
		for _, arg := range call.Args {
			see(arg, funcOf(p.info, arg))
		}
	}
}

// runsIn returns f and the literals that run where f does.
func (p *program) runsIn(f *function) []*function {
	list := []*function{f}
	for i := 0; i < len(list); i++ {
		for _, g := range list[i].callee {
			if g.obj == nil && !slices.Contains(list, g) {
				list = append(list, g)
			}
		}
	}
	return list
}
