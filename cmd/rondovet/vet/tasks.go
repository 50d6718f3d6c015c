package vet

import (
	"go/ast"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// tasksAnalyzer finds the functions of a package that run as tasks: those that Rondo is
// given, those that call what only a task may call, and what these call in the package.
// To other packages it says which functions wait, and which ones block.
var tasksAnalyzer = &analysis.Analyzer{
	Name:       "rondotasks",
	Doc:        "find the functions that run as tasks of Rondo",
	Run:        func(pass *analysis.Pass) (any, error) { return findTasks(pass), nil },
	ResultType: reflect.TypeFor[*program](),
	FactTypes:  []analysis.Fact{new(waitsFact), new(blocksFact)},
}

// A waitsFact says that a function waits, so that only a task may call it.
type waitsFact struct{}

func (*waitsFact) AFact()         {}
func (*waitsFact) String() string { return "waits" }

// A blocksFact says that a function, which need not run in a task, blocks.
type blocksFact struct{ How string }

func (*blocksFact) AFact()           {}
func (f *blocksFact) String() string { return "blocks: " + f.How }

// findTasks reads the functions of a package, and notes facts for its importers. Packages
// of other people and of the standard library, and Rondo itself, get none.
func findTasks(pass *analysis.Pass) *program {
	if internals(pass.Pkg) && !tests(pass) || !local(pass) {
		return &program{info: pass.TypesInfo}
	}
	p := readProgram(pass.Files, pass.TypesInfo)
	p.importFacts(pass)
	p.findWaits()
	p.spreadTasks()
	blocks := p.findBlocks()
	for _, f := range p.funcs {
		if f.obj == nil {
			continue
		}
		if f.waits {
			pass.ExportObjectFact(f.obj, new(waitsFact))
		} else if how := blocks[f]; how != "" && !f.isTask {
			pass.ExportObjectFact(f.obj, &blocksFact{how})
		}
	}
	return p
}

// importFacts asks what is known of the functions of other packages that this one calls.
func (p *program) importFacts(pass *analysis.Pass) {
	p.waiting, p.blocking = make(map[*types.Func]bool), make(map[*types.Func]string)
	for _, f := range p.funcs {
		for _, call := range f.calls {
			fn := calleeOf(p.info, call)
			if fn == nil || fn.Pkg() == nil || fn.Pkg() == pass.Pkg {
				continue
			}
			if pass.ImportObjectFact(fn, new(waitsFact)) {
				p.waiting[fn] = true
			}
			if fact := new(blocksFact); pass.ImportObjectFact(fn, fact) {
				p.blocking[fn] = fact.How
			}
		}
	}
}

// tests reports whether a package is one of tests.
func tests(pass *analysis.Pass) bool {
	return strings.HasSuffix(pass.Pkg.Path(), "_test") || strings.HasSuffix(pass.Pkg.Name(), "_test")
}

// local reports whether a package belongs to the program that is checked, and not to a
// version of a module of others, or to the standard library. Files that are named on the
// command line have no module.
func local(pass *analysis.Pass) bool {
	if pass.Module == nil || pass.Module.Path == "" {
		return pass.Pkg.Path() == "command-line-arguments"
	}
	return pass.Module.Version == "" && pass.Module.Path != "std"
}

// callWaits reports whether a call waits as only a task may.
func (p *program) callWaits(call *ast.CallExpr) bool {
	fn := calleeOf(p.info, call)
	if fn == nil {
		f := p.functionOf(call.Fun)
		return f != nil && f.waits
	}
	if f := p.byObject[types.Object(fn)]; f != nil {
		return f.waits
	}
	return waits(fn) || p.waiting[fn]
}

// findWaits finds the functions in which a task-only wait may happen. One that is for a
// goroutine, or is a callback, is wrong to wait, and so is no proof of a task.
func (p *program) findWaits() {
	for changed := true; changed; {
		changed = false
		for _, f := range p.funcs {
			if f.waits || f.elsewhere() {
				continue
			}
			for _, call := range f.calls {
				if _, ok := p.parents[call].(*ast.GoStmt); !ok && p.callWaits(call) {
					f.waits = true
				}
			}
			for _, g := range f.callee {
				f.waits = f.waits || g.waits
			}
			changed = changed || f.waits
		}
	}
}

// elsewhere reports whether a function runs on goroutines or as a callback, and, as far
// as is known, not as a task.
func (f *function) elsewhere() bool {
	return (f.roles[goroutine] || f.roles[callback]) && !f.roles[task]
}

// spreadTasks makes tasks of what Rondo is given, of what waits, and of what they call.
func (p *program) spreadTasks() {
	var spread func(f *function)
	spread = func(f *function) {
		if f.isTask {
			return
		}
		f.isTask = true
		for _, g := range f.callee {
			spread(g)
		}
	}
	for _, f := range p.funcs {
		if f.roles[task] || f.waits || p.starts(f) {
			spread(f)
		}
	}
}

// starts reports whether a function starts tasks itself, and so runs on the loop.
func (p *program) starts(f *function) bool {
	return !f.elsewhere() && slices.ContainsFunc(f.calls, func(call *ast.CallExpr) bool {
		fn := calleeOf(p.info, call)
		return fn != nil && ours(fn.Pkg()) && slices.Contains([]string{"rondo.Go", "rondo.Async", "rondo.Scope.Go"}, nameOf(fn))
	})
}

// findBlocks returns the functions that block, in themselves or in what they call in this
// package, and how.
func (p *program) findBlocks() map[*function]string {
	blocks := make(map[*function]string)
	for _, f := range p.funcs {
		if ops := p.blockingIn(f); len(ops) > 0 {
			blocks[f] = ops[0].what
		}
	}
	for changed := true; changed; {
		changed = false
		for _, f := range p.funcs {
			for _, g := range f.callee {
				if blocks[f] == "" && blocks[g] != "" {
					blocks[f], changed = blocks[g], true
				}
			}
		}
	}
	return blocks
}

// inspectOwn calls visit for the nodes in the body of f, but not for those in literals.
func (f *function) inspectOwn(visit func(n ast.Node) bool) {
	ast.Inspect(f.body, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			return false
		}
		return n == nil || visit(n)
	})
}
