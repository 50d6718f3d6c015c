package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// Blocking reports what blocks the loop in functions that run as tasks.
var Blocking = &analysis.Analyzer{
	Name: "rondoblock",
	Doc: "report calls that block the loop in functions that run as tasks\n\n" +
		"Tasks run one at a time. One that blocks its goroutine in time.Sleep, on a channel, in a sync.WaitGroup, " +
		"or in a library that knows nothing of Rondo, stops all of them.",
	URL:      page + "#rondoblock",
	Requires: []*analysis.Analyzer{tasksAnalyzer},
	Run:      runBlocking,
}

// A block is a place where a goroutine may block.
type block struct {
	node ast.Node
	what string // what blocks
	cure string // what to use in its place
	fix  *analysis.SuggestedFix
}

func runBlocking(pass *analysis.Pass) (any, error) {
	p := pass.ResultOf[tasksAnalyzer].(*program)
	r := newReporter(pass)
	for _, f := range p.funcs {
		if !f.isTask {
			p.reportCallback(r, f)
			continue
		}
		p.reportOnce(r, f)
		for _, b := range p.blockingIn(f) {
			r.report(b.node, b.fix, "%s stops the loop, because this runs in a task: use %s", b.what, b.cure)
		}
		p.reportHeld(r, f)
	}
	return nil, nil
}

// reportCallback reports what blocks in a callback of the loop.
func (p *program) reportCallback(r *reporter, f *function) {
	if !f.roles[callback] || f.roles[goroutine] {
		return
	}
	for _, g := range p.runsIn(f) {
		for _, b := range p.blockingIn(g) {
			if !g.isTask {
				r.report(b.node, nil, "%s stops the loop, because this runs in a callback: let it start a task with rondo.Go", b.what)
			}
		}
	}
}

// onces are functions that keep all callers but the first waiting, without the loop, until the
// function they are given has returned, and what to use if that waits.
var onces = map[string]string{
	"sync.Once.Do":    "a rondo.Mutex and a bool",
	"sync.OnceFunc":   "a rondo.Mutex and a bool",
	"sync.OnceValue":  "rondo.Async, whose Future all may wait for",
	"sync.OnceValues": "rondo.Async, whose Future all may wait for",
	"golang.org/x/sync/singleflight.Group.Do": "a map of Futures that rondo.Async returns",
}

// reportOnce reports such calls with a function that waits.
func (p *program) reportOnce(r *reporter, f *function) {
	for _, call := range f.calls {
		fn := calleeOf(p.info, call)
		if fn == nil || onces[idOf(fn)] == "" {
			continue
		}
		if once := p.functionOf(call.Args[len(call.Args)-1]); once != nil && once.waits {
			r.report(call, nil, "%s with a function that waits: the next task that gets here stops the loop: use %s", nameOf(fn), onces[idOf(fn)])
		}
	}
}

// blockingIn returns the places in f, without its literals, that block.
func (p *program) blockingIn(f *function) (found []block) {
	ready := make(map[ast.Node]bool) // communications of a select, which do not block alone
	f.inspectOwn(func(n ast.Node) bool {
		b := block{node: n, cure: "rondo.Queue between tasks, or rondo.Receive for a channel of goroutines"}
		switch n := n.(type) {
		case *ast.SelectStmt:
			waits := true
			for _, c := range n.Body.List {
				clause := c.(*ast.CommClause)
				waits = waits && clause.Comm != nil
				if clause.Comm != nil {
					ast.Inspect(clause.Comm, func(n ast.Node) bool { ready[n] = true; return true })
				}
			}
			if waits {
				b.node, b.what, b.cure = &ast.Ident{NamePos: n.Select, Name: "select"}, "a select", "rondo.Select, or rondo.Receive for a channel of goroutines"
				found = append(found, b)
			}
		case *ast.UnaryExpr:
			if n.Op == token.ARROW && !ready[n] && !p.filled(f, n.X, false) && !p.counted(n) {
				found = append(found, p.receive(f, n))
			}
		case *ast.SendStmt:
			if !ready[n] && p.unbuffered(n.Chan) {
				b.what = "a send to a channel"
				found = append(found, b)
			}
		case *ast.RangeStmt:
			if t := p.info.TypeOf(n.X); t != nil {
				if _, ok := t.Underlying().(*types.Chan); ok && !p.filled(f, n.X, true) {
					b.node, b.what = n.X, "a range over a channel"
					found = append(found, b)
				}
			}
		case *ast.GoStmt:
			// The arguments are evaluated here; the call runs elsewhere.
			ready[n.Call] = true
		case *ast.CallExpr:
			if b, ok := p.callBlocks(f, n); ok && !ready[n] {
				found = append(found, b)
			}
		}
		return true
	})
	return found
}

// receive describes a bare receive. That of ctx.Done is so common, and can hang so
// silently, that it has a cure of its own.
func (p *program) receive(f *function, n *ast.UnaryExpr) block {
	b := block{node: n, what: "a receive from a channel", cure: "rondo.Queue between tasks, or rondo.Receive for a channel of goroutines"}
	call, ok := ast.Unparen(n.X).(*ast.CallExpr)
	if !ok {
		return b
	}
	fn := calleeOf(p.info, call)
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	switch {
	case fn == nil || !ok:
	case fn.Name() == "Done" && isCtx(p.info.TypeOf(sel.X)):
		b.what, b.cure = "<-"+types.ExprString(sel.X)+".Done()", "rondo.WaitCanceled("+types.ExprString(sel.X)+")"
		if _, alone := p.parents[n].(*ast.ExprStmt); alone && p.imports(n, "rondo") {
			b.fix = replace("Use rondo.WaitCanceled", n, "_ = "+b.cure)
		}
	case idOf(fn) == "time.After" || idOf(fn) == "time.Tick":
		b.what, b.cure = "<-"+nameOf(fn), "rondo.Sleep, or rondo.Every"
	}
	return b
}

// filled reports whether f, or a function around it in which it runs, has closed a channel before,
// or sent to it, or has waited for functions that do: then a receive need not block. For a range
// only closed counts.
func (p *program) filled(f *function, ch ast.Expr, closed bool) (filled bool) {
	v := p.variable(ch)
	if v == nil {
		return false
	}
	before := ch.Pos()
	fills := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SendStmt:
			return !closed && p.variable(n.Chan) == v
		case *ast.CallExpr:
			id, ok := n.Fun.(*ast.Ident)
			return ok && p.info.Uses[id] == types.Universe.Lookup("close") && p.variable(n.Args[0]) == v
		}
		return false
	}
	for ; f != nil && !filled; f = f.outer {
		f.inspectOwn(func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			_, later := p.parents[n].(*ast.DeferStmt)
			switch {
			case later || n.Pos() >= before:
			case fills(n):
				filled = true
			case ok && call.End() <= before && p.callWaits(call):
				ast.Inspect(call, func(n ast.Node) bool { filled = filled || fills(n); return true })
			}
			return true
		})
		if len(f.roles) > 0 {
			break
		}
		before = f.node.Pos()
	}
	return filled
}

// counted reports whether a receive is in an if or a for that asks how many values the channel has:
// then it need not block.
func (p *program) counted(receive *ast.UnaryExpr) bool {
	v := p.variable(receive.X)
	for n := ast.Node(receive); v != nil && n != nil; n = p.parents[n] {
		var condition ast.Expr
		switch n := n.(type) {
		case *ast.FuncLit, *ast.FuncDecl:
			return false
		case *ast.IfStmt:
			condition = n.Cond
		case *ast.ForStmt:
			condition = n.Cond
		case *ast.RangeStmt:
			condition = n.X
		}
		if condition != nil && p.asksLength(condition, v) {
			return true
		}
	}
	return false
}

// asksLength reports whether an expression has a call of len with v, or a variable that was set to
// such a call.
func (p *program) asksLength(e ast.Expr, v types.Object) (asks bool) {
	isLength := func(e ast.Expr) bool {
		call, ok := ast.Unparen(e).(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			return false
		}
		id, ok := ast.Unparen(call.Fun).(*ast.Ident)
		return ok && p.info.Uses[id] == types.Universe.Lookup("len") && p.variable(call.Args[0]) == v
	}
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			asks = asks || isLength(n)
		case *ast.Ident:
			asks = asks || slices.ContainsFunc(p.values[p.info.Uses[n]], isLength)
		}
		return !asks
	})
	return asks
}

// unbuffered reports whether e is a variable or a field that is set to channels without
// room and to nothing else.
func (p *program) unbuffered(e ast.Expr) bool {
	values := p.values[p.variable(e)]
	for _, value := range values {
		call, ok := value.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			return false
		}
		if id, ok := call.Fun.(*ast.Ident); !ok || id.Name != "make" {
			return false
		}
	}
	return len(values) > 0
}

// callBlocks describes a call that blocks.
func (p *program) callBlocks(f *function, call *ast.CallExpr) (b block, blocks bool) {
	fn := calleeOf(p.info, call)
	if fn == nil {
		return b, false
	}
	b = block{node: call, what: nameOf(fn), cure: cureFor(fn)}
	switch {
	case idOf(fn) == "time.Sleep":
		b.fix = p.returning(f, call, "rondo.Sleep(", true)
	case b.cure != "":
	case p.readsInput(call, fn):
		b.what, b.cure = nameOf(fn)+" of the standard input", "rondo.Offload"
	case p.clientBlocks(call, fn):
		b.cure = "httptask.Client"
	case idOf(fn) == "net.Listener.Accept":
		sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
		if !ok || !p.listenerOf(sel.X) {
			return b, false
		}
		b.what, b.cure = "Accept of a listener of package net", "socket.Listen"
	case servesSockets(fn) && len(call.Args) > 1 && p.wrapsListener(call.Args[1]):
		b.what, b.cure = nameOf(fn)+" with a struct around a listener of package net", "socket.Listen"
	case p.blocking[fn] != "":
		b.what, b.cure = fmt.Sprintf("%s, in which %s blocks,", nameOf(fn), p.blocking[fn]), "rondo.Offload"
	default:
		return b, false
	}
	return b, true
}

// servesSockets reports whether a function of package socket accepts from its second
// argument.
func servesSockets(fn *types.Func) bool {
	return fn.Pkg() != nil && fn.Pkg().Path() == root+"/socket" && fn.Name() == "Serve"
}
