package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// reportHeld reports waits in f while it holds a lock of package sync. The next task that
// wants the lock blocks the goroutine, and with it the task that would unlock it.
func (p *program) reportHeld(r *reporter, f *function) {
	for _, lock := range f.calls {
		held, kind := p.lockCall(lock, "Lock", "RLock")
		if held == "" {
			continue
		}
		from, to := p.held(f, lock, held)
		for _, call := range f.calls {
			if call.Pos() <= from || call.Pos() >= to || p.leaves(f, lock, call, held) {
				continue
			}
			if what := p.mayWait(call); what != "" {
				r.report(call, nil, "%s waits while %s, a %s, is locked in line %d: the next task that locks it stops the loop: use rondo.%s, or unlock it before",
					what, held, kind, r.line(lock.Pos()), strings.TrimPrefix(kind, "sync."))
				break
			}
		}
	}
}

// lockCall returns what a call locks or unlocks, and its type, if it is one of these
// methods of a lock of package sync.
func (p *program) lockCall(call *ast.CallExpr, methods ...string) (held, kind string) {
	fn := calleeOf(p.info, call)
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if fn == nil || !ok || !slices.Contains(methods, fn.Name()) {
		return "", ""
	}
	for _, kind := range []string{"sync.Mutex", "sync.RWMutex"} {
		if strings.HasPrefix(idOf(fn), kind+".") {
			return types.ExprString(sel.X), kind
		}
	}
	return "", ""
}

// held returns from where to where a lock is held: to the Unlock that follows in the same
// block, else to the first one that follows, else, or if that is deferred, to the end of f.
func (p *program) held(f *function, lock *ast.CallExpr, held string) (from, to token.Pos) {
	from, to = lock.End(), f.body.End()
	block := p.block(lock)
	for _, call := range f.calls {
		if what, _ := p.lockCall(call, "Unlock", "RUnlock"); what != held || call.Pos() < from {
			continue
		}
		if _, deferred := p.parents[call].(*ast.DeferStmt); deferred {
			return from, f.body.End()
		}
		if p.block(call) == block {
			return from, min(to, call.Pos())
		}
	}
	for _, call := range f.calls {
		if what, _ := p.lockCall(call, "Unlock", "RUnlock"); what == held && call.Pos() > from {
			return from, min(to, call.Pos())
		}
	}
	// Nothing here unlocks it, or a literal does: a function that only locks.
	if _, deferred := p.deferredUnlock(f, held); deferred {
		return from, to
	}
	return from, from
}

// leaves reports whether between lock and call the lock is unlocked on the way to call:
// in a block around it.
func (p *program) leaves(f *function, lock, call *ast.CallExpr, held string) bool {
	for _, unlock := range f.calls {
		if what, _ := p.lockCall(unlock, "Unlock", "RUnlock"); what != held || unlock.Pos() < lock.End() || unlock.Pos() > call.Pos() {
			continue
		}
		if _, deferred := p.parents[unlock].(*ast.DeferStmt); !deferred && contains(p.block(unlock), call.Pos()) {
			return true
		}
	}
	return false
}

// deferredUnlock finds an Unlock in a literal that f defers.
func (p *program) deferredUnlock(f *function, held string) (unlock *ast.CallExpr, ok bool) {
	for _, g := range f.callee {
		for _, call := range g.calls {
			if what, _ := p.lockCall(call, "Unlock", "RUnlock"); what == held && g.outer == f {
				return call, true
			}
		}
	}
	return nil, false
}

// block returns the list of statements that n is in.
func (p *program) block(n ast.Node) ast.Node {
	for n = p.parents[n]; n != nil; n = p.parents[n] {
		switch n.(type) {
		case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
			return n
		}
	}
	return nil
}

// mayWait returns the name of the function that a call in a task calls if that may
// suspend the task, or "".
func (p *program) mayWait(call *ast.CallExpr) string {
	switch p.parents[call].(type) {
	case *ast.GoStmt, *ast.DeferStmt:
		return ""
	}
	fn := calleeOf(p.info, call)
	if p.callWaits(call) || fn != nil && suspends(fn) {
		return types.ExprString(call.Fun)
	}
	return ""
}
