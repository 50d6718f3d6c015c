package vet

import (
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// WaitError reports errors of waits that are dropped.
var WaitError = &analysis.Analyzer{
	Name: "rondoerr",
	Doc: "report errors of waits that are dropped\n\n" +
		"The error of a wait says that the task was cancelled. A task that drops it goes on, and one that drops it in " +
		"a loop never ends, because each further wait fails at once.",
	URL:      page + "#rondoerr",
	Requires: []*analysis.Analyzer{tasksAnalyzer},
	Run:      runWaitError,
}

func runWaitError(pass *analysis.Pass) (any, error) {
	p := pass.ResultOf[tasksAnalyzer].(*program)
	r := newReporter(pass)
	for _, f := range p.funcs {
		p.reportDeferred(r, f)
		p.reportMap(r, f)
		for _, call := range f.calls {
			fn := calleeOf(p.info, call)
			if _, alone := p.parents[call].(*ast.ExprStmt); alone && fn != nil && idOf(fn) == root+".Loop.Post" {
				r.report(call, nil, "the error of rondo.Loop.Post is dropped: it says that the loop has ended, and the function is not called: handle it, or write _ =")
				continue
			}
			if fn == nil || !ours(fn.Pkg()) || !returnsError(fn.Signature()) || !waits(fn) && !suspends(fn) && !isRun(fn) {
				continue
			}
			if nameOf(fn) == "rondo.WaitCanceled" || !takesCtx(fn.Signature()) && fn.Pkg().Name() == "socket" {
				continue
			}
			switch s := p.parents[call].(type) {
			case *ast.ExprStmt:
				r.report(call, p.returning(f, call, "", false), "the error of %s is dropped: return it, or write _ = if nothing follows that matters", nameOf(fn))
			case *ast.AssignStmt:
				if loop := p.endless(f, s); loop != nil && dropsLast(s) && !p.looks(loop, s) {
					r.report(call, nil, "the error of %s is dropped in a loop: once the task is cancelled each wait fails at once, and the loop does not end: return the error", nameOf(fn))
				}
			case *ast.IfStmt:
			}
			p.reportContinue(r, f, call, fn)
		}
	}
	return nil, nil
}

// reportDeferred reports waits and writes to connections in deferred calls of a task: a task that
// was cancelled fails there at once, and a deferred call has nobody who sees the error.
func (p *program) reportDeferred(r *reporter, f *function) {
	if !f.isTask || p.shields(f) {
		return
	}
	f.inspectOwn(func(n ast.Node) bool {
		d, ok := n.(*ast.DeferStmt)
		if !ok {
			return true
		}
		calls := []*ast.CallExpr{d.Call}
		if lit, ok := ast.Unparen(d.Call.Fun).(*ast.FuncLit); ok {
			calls = nil
			for _, s := range lit.Body.List {
				if e, ok := s.(*ast.ExprStmt); ok {
					if call, ok := e.X.(*ast.CallExpr); ok && p.writesConn(call) {
						calls = append(calls, call)
					}
				}
			}
		}
		for _, call := range calls {
			fn := calleeOf(p.info, call)
			if p.writesConn(call) || fn != nil && waits(fn) && !p.opens(fn) && !p.unending(call.Args[0]) {
				r.report(call, nil, "%s in a deferred call fails at once if the task was cancelled, and nobody sees the error: put it into rondo.Shield", types.ExprString(call.Fun))
			}
		}
		return true
	})
}

// reportMap reports a range over rondo.Map that takes results and drops errors, also by _,
// which gofmt -s removes. A call that has failed yields the zero value.
func (p *program) reportMap(r *reporter, f *function) {
	f.inspectOwn(func(n ast.Node) bool {
		loop, ok := n.(*ast.RangeStmt)
		if !ok {
			return true
		}
		call, ok := ast.Unparen(loop.X).(*ast.CallExpr)
		if !ok {
			return true
		}
		fn := calleeOf(p.info, call)
		id, blank := loop.Value.(*ast.Ident)
		if fn != nil && idOf(fn) == root+".Map" && loop.Key != nil && (loop.Value == nil || blank && id.Name == "_") {
			r.report(call, nil, "a range over rondo.Map drops the errors: where a call has failed it yields the zero value: take the second variable, and return it or note it")
		}
		return true
	})
}

// shields reports whether a function runs in a rondo.Shield.
func (p *program) shields(f *function) bool {
	for ; f != nil; f = f.outer {
		if f.opener != nil && f.roles[task] {
			return nameOf(f.opener) == "rondo.Shield"
		}
	}
	return false
}

// opens reports whether a function is given one that may do what it likes about cancellation.
func (p *program) opens(fn *types.Func) bool {
	for v := range fn.Signature().Params().Variables() {
		if _, ok := v.Type().Underlying().(*types.Signature); ok {
			return true
		}
	}
	return false
}

// unending reports whether a ctx is one of context.WithoutCancel.
func (p *program) unending(ctx ast.Expr) bool {
	return p.withoutCancel(ctx) || p.shielded(p.variable(ctx))
}

// writesConn reports whether a call writes to what is certainly a connection.
func (p *program) writesConn(call *ast.CallExpr) bool {
	fn := calleeOf(p.info, call)
	if fn == nil {
		return false
	}
	var to ast.Expr
	switch idOf(fn) {
	case "fmt.Fprint", "fmt.Fprintf", "fmt.Fprintln", "io.WriteString":
		to = call.Args[0]
	case "net.Conn.Write", root + "/socket.Conn.Write", root + "/socket.TLSConn.Write":
		if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
			to = sel.X
		}
	}
	t := types.Type(nil)
	if to != nil {
		t = p.info.TypeOf(to)
	}
	return t != nil && (isNamed(t, "net", "Conn") || isNamed(t, root+"/socket", "Conn") || isNamed(t, root+"/socket", "TLSConn"))
}

// isRun reports whether a function runs loops.
func isRun(fn *types.Func) bool {
	return slices.Contains([]string{"rondo.Run", "rondo.Runner.Run", "shard.Run", "shard.Runner.Run"}, nameOf(fn))
}

// dropsLast reports whether an assignment drops its last value.
func dropsLast(s *ast.AssignStmt) bool {
	id, ok := s.Lhs[len(s.Lhs)-1].(*ast.Ident)
	return ok && id.Name == "_"
}

// endless returns the innermost loop around n in f if nothing counts its rounds: for
// without a condition, or with a condition alone.
func (p *program) endless(f *function, n ast.Node) *ast.ForStmt {
	for n = p.parents[n]; n != nil && n != f.node; n = p.parents[n] {
		switch n := n.(type) {
		case *ast.RangeStmt:
			return nil
		case *ast.ForStmt:
			if n.Cond == nil {
				return n
			}
			return nil
		}
	}
	return nil
}

// looks reports whether a loop can end in some other way than by the statement dropped:
// it returns, breaks, jumps, panics, or ends the program.
func (p *program) looks(loop *ast.ForStmt, dropped ast.Node) bool {
	found := false
	depth := 0
	var walk func(n ast.Node) bool
	walk = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			found = true
		case *ast.CallExpr:
			found = found || p.noReturn(n)
		case *ast.BranchStmt:
			switch n.Tok.String() {
			case "goto":
				found = true
			case "break":
				found = found || depth == 0 || n.Label != nil
			}
		case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			depth++
			for _, body := range bodies(n) {
				ast.Inspect(body, walk)
			}
			depth--
			return false
		}
		return !found
	}
	ast.Inspect(loop.Body, walk)
	return found
}

// noReturn reports whether a call certainly does not return.
func (p *program) noReturn(call *ast.CallExpr) bool {
	if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok && p.info.Uses[id] == types.Universe.Lookup("panic") {
		return true
	}
	fn := calleeOf(p.info, call)
	return fn != nil && slices.Contains([]string{"os.Exit", "runtime.Goexit", "log.Fatal", "log.Fatalf", "log.Fatalln"}, idOf(fn))
}

// bodies returns the parts of a statement that a break without a label leaves.
func bodies(n ast.Node) []ast.Node {
	switch n := n.(type) {
	case *ast.ForStmt:
		return []ast.Node{n.Body}
	case *ast.RangeStmt:
		return []ast.Node{n.Body}
	case *ast.SwitchStmt:
		return []ast.Node{n.Body}
	case *ast.TypeSwitchStmt:
		return []ast.Node{n.Body}
	case *ast.SelectStmt:
		return []ast.Node{n.Body}
	}
	return nil
}

// simple are waits that fail only if the task is cancelled, or for good: to try again
// with the same ctx is of no use.
var simple = []string{
	"rondo.Sleep", "rondo.SleepUntil", "rondo.Yield", "rondo.Queue.Get", "rondo.Queue.Put", "rondo.Queue.Join",
	"rondo.Event.Wait", "rondo.Mutex.Lock", "rondo.RWMutex.Lock", "rondo.RWMutex.RLock", "rondo.Semaphore.Acquire",
	"rondo.Semaphore.AcquireN", "rondo.Receive", "broadcast.Reader.Next", "broadcast.Subscription.Next",
}

// reportContinue reports `if err != nil { ...; continue }` after a simple wait with a ctx
// from outside the loop.
func (p *program) reportContinue(r *reporter, f *function, call *ast.CallExpr, fn *types.Func) {
	s, ok := p.parents[call].(*ast.AssignStmt)
	if !ok || !isSimple(fn) {
		return
	}
	err, ok := s.Lhs[len(s.Lhs)-1].(*ast.Ident)
	loop := p.endless(f, s)
	if !ok || err.Name == "_" || loop == nil {
		return
	}
	if id, ok := ast.Unparen(call.Args[0]).(*ast.Ident); !ok || p.objectOf(id) == nil || contains(loop, p.objectOf(id).Pos()) {
		return
	}
	check, ok := p.parents[s].(*ast.IfStmt)
	if !ok || check.Init != ast.Stmt(s) {
		check, ok = p.after(s).(*ast.IfStmt)
	}
	if !ok || types.ExprString(check.Cond) != err.Name+" != nil" || len(check.Body.List) == 0 {
		return
	}
	last, ok := check.Body.List[len(check.Body.List)-1].(*ast.BranchStmt)
	if ok && last.Tok.String() == "continue" && last.Label == nil && !p.looks(&ast.ForStmt{Body: check.Body}, nil) {
		r.report(last, nil, "the loop goes on after an error of %s: once the task is cancelled each wait fails at once, and the loop does not end: return the error", nameOf(fn))
	}
}

func isSimple(fn *types.Func) bool {
	for _, name := range simple {
		if name == nameOf(fn) {
			return true
		}
	}
	return false
}

// after returns the statement that follows s in its block, or nil.
func (p *program) after(s ast.Stmt) ast.Node {
	var list []ast.Stmt
	switch b := p.parents[s].(type) {
	case *ast.BlockStmt:
		list = b.List
	case *ast.CaseClause:
		list = b.Body
	case *ast.CommClause:
		list = b.Body
	}
	for i := range list {
		if list[i] == s && i+1 < len(list) {
			return list[i+1]
		}
	}
	return nil
}
