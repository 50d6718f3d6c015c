package vet

import (
	"go/ast"
	"go/token"
	"go/types"
)

// A function is a declaration or a literal, and what is known of it.
type function struct {
	node  ast.Node // *ast.FuncDecl or *ast.FuncLit
	typ   *ast.FuncType
	body  *ast.BlockStmt
	obj   *types.Func // of a declaration
	outer *function   // the function around a literal

	roles  map[role]bool
	opener *types.Func // the function of Rondo's that a literal is an argument of, or nil
	calls  []*ast.CallExpr
	callee []*function // functions of this package that run where this one does
	waits  bool        // a task-only wait may happen in it, or in what it calls
	isTask bool

	handler bool // Rondo closes the connection, or the answer, that it gets when it has returned
}

// A program is the functions of one package.
type program struct {
	info     *types.Info
	funcs    []*function                 // in the order of the source, outer ones first
	byNode   map[ast.Node]*function      // all of them
	byObject map[types.Object]*function  // declared functions, and variables that are set once, to a literal
	values   map[types.Object][]ast.Expr // what each variable is set to; nil is anything
	parents  map[ast.Node]ast.Node
	waiting  map[*types.Func]bool   // functions of other packages that wait
	blocking map[*types.Func]string // and those that block, and how
}

// readProgram finds the functions of a package.
func readProgram(files []*ast.File, info *types.Info) *program {
	p := &program{info: info, byNode: make(map[ast.Node]*function), byObject: make(map[types.Object]*function),
		values: make(map[types.Object][]ast.Expr), parents: make(map[ast.Node]ast.Node)}
	for _, file := range files {
		ast.PreorderStack(file, nil, func(n ast.Node, stack []ast.Node) bool {
			if len(stack) > 0 {
				p.parents[n] = stack[len(stack)-1]
			}
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Body != nil {
					f := p.add(n, n.Type, n.Body)
					f.obj, _ = info.Defs[n.Name].(*types.Func)
					p.byObject[f.obj] = f
				}
			case *ast.FuncLit:
				p.add(n, n.Type, n.Body).outer = p.around(n)
			case *ast.CallExpr:
				if f := p.around(n); f != nil {
					f.calls = append(f.calls, n)
				}
			}
			p.readValues(n)
			return true
		})
	}
	for object, values := range p.values {
		if len(values) == 1 && values[0] != nil {
			if lit, ok := ast.Unparen(values[0]).(*ast.FuncLit); ok {
				p.byObject[object] = p.byNode[lit]
			}
		}
	}
	for _, f := range p.funcs {
		if lit, ok := f.node.(*ast.FuncLit); ok {
			p.place(f, lit)
		}
		for _, call := range f.calls {
			p.readCall(f, call)
		}
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool { p.readFields(n); return true })
	}
	return p
}

func (p *program) add(n ast.Node, typ *ast.FuncType, body *ast.BlockStmt) *function {
	f := &function{node: n, typ: typ, body: body, roles: make(map[role]bool)}
	p.funcs = append(p.funcs, f)
	p.byNode[n] = f
	return f
}

// around returns the innermost function around n, or nil.
func (p *program) around(n ast.Node) *function {
	for n = p.parents[n]; n != nil; n = p.parents[n] {
		if f := p.byNode[n]; f != nil {
			return f
		}
	}
	return nil
}

// readValues notes what variables are set to.
func (p *program) readValues(n ast.Node) {
	set := func(lhs ast.Expr, value ast.Expr) {
		if v := p.variable(lhs); v != nil {
			p.values[v] = append(p.values[v], value)
		}
	}
	switch n := n.(type) {
	case *ast.AssignStmt:
		for i, lhs := range n.Lhs {
			switch {
			case n.Tok != token.ASSIGN && n.Tok != token.DEFINE:
				set(lhs, nil)
			case len(n.Lhs) == len(n.Rhs):
				set(lhs, n.Rhs[i])
			case len(n.Rhs) == 1: // v, err := call(): the first is what it is about
				if i == 0 {
					set(lhs, n.Rhs[0])
				} else {
					set(lhs, nil)
				}
			}
		}
	case *ast.ValueSpec:
		for i, name := range n.Names {
			if i < len(n.Values) {
				set(name, n.Values[i])
			}
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			set(n.X, nil) // anyone may set it
		}
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok {
			if v, ok := p.info.Uses[key].(*types.Var); ok && v.IsField() {
				set(key, n.Value)
			}
		}
	case *ast.RangeStmt:
		set(n.Key, nil)
		set(n.Value, nil)
	case *ast.FuncType:
		for _, field := range n.Params.List {
			for _, name := range field.Names {
				set(name, nil) // by each caller
			}
		}
	case *ast.Ident:
		// Importers may set what is exported, and nobody imports package main.
		if v, ok := p.info.Defs[n].(*types.Var); ok && v.Exported() && v.Pkg().Name() != "main" && (v.IsField() || v.Parent() == v.Pkg().Scope()) {
			set(n, nil)
		}
	}
}

// variable returns the variable or field that e names, or nil.
func (p *program) variable(e ast.Expr) types.Object {
	if e == nil {
		return nil
	}
	var o types.Object
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		o = p.objectOf(e)
	case *ast.SelectorExpr:
		o = p.info.Uses[e.Sel]
	}
	if v, ok := o.(*types.Var); ok {
		return v
	}
	return nil
}

func (p *program) objectOf(id *ast.Ident) types.Object {
	if o := p.info.Defs[id]; o != nil {
		return o
	}
	return p.info.Uses[id]
}

// valueOf returns what an expression is set to if it is a variable that is set once,
// and otherwise the expression itself.
func (p *program) valueOf(e ast.Expr) ast.Expr {
	e = ast.Unparen(e)
	if values := p.values[p.variable(e)]; len(values) == 1 && values[0] != nil {
		return ast.Unparen(values[0])
	}
	return e
}

// functionOf returns the function of this package that e names or is, or nil.
func (p *program) functionOf(e ast.Expr) *function {
	e = ast.Unparen(e)
	switch n := e.(type) {
	case *ast.FuncLit:
		return p.byNode[n]
	case *ast.CallExpr: // http.HandlerFunc(f)
		if t, ok := p.info.Types[n.Fun]; ok && t.IsType() && len(n.Args) == 1 {
			return p.functionOf(n.Args[0])
		}
	case *ast.Ident:
		if f := p.byObject[p.objectOf(n)]; f != nil {
			return f
		}
	}
	if fn := funcOf(p.info, e); fn != nil {
		return p.byObject[fn]
	}
	return nil
}

// place gives a literal its role if that follows from where it stands: called at once,
// or after go or defer. Where a literal is an argument, readCall does that.
func (p *program) place(f *function, lit *ast.FuncLit) {
	n := ast.Node(lit)
	for {
		if paren, ok := p.parents[n].(*ast.ParenExpr); ok {
			n = paren
			continue
		}
		break
	}
	if call, ok := p.parents[n].(*ast.CallExpr); ok && ast.Unparen(call.Fun) == lit {
		p.give(f, f.outer, p.roleOfCall(call))
	}
}

// roleOfCall says where a called function runs.
func (p *program) roleOfCall(call *ast.CallExpr) role {
	if _, ok := p.parents[call].(*ast.GoStmt); ok {
		return goroutine
	}
	return inline
}

// give adds a role to a function that is used in user.
func (p *program) give(f, user *function, r role) {
	switch r {
	case unknown:
	case inline:
		if user != nil {
			user.callee = append(user.callee, f)
		}
	default:
		f.roles[r] = true
	}
}

// readCall notes the roles that a call gives to the function that is called, and to
// those that are its arguments.
func (p *program) readCall(user *function, call *ast.CallExpr) {
	if _, lit := ast.Unparen(call.Fun).(*ast.FuncLit); !lit {
		if f := p.functionOf(call.Fun); f != nil {
			p.give(f, user, p.roleOfCall(call))
		}
	}
	fn := calleeOf(p.info, call)
	if fn == nil {
		return
	}
	if fn.Pkg() != nil && fn.Pkg().Path() == root+"/httptask" && !p.moves(call) {
		p.readHandlers(call)
	}
	params := fn.Signature().Params()
	for i, arg := range call.Args {
		f := p.functionOf(arg)
		if f == nil || params.Len() == 0 {
			continue
		}
		t := params.At(min(i, params.Len()-1)).Type()
		if slice, ok := t.(*types.Slice); ok && fn.Signature().Variadic() && i >= params.Len()-1 {
			t = slice.Elem()
		}
		p.give(f, user, roleOfArgument(fn, t))
		if _, lit := f.node.(*ast.FuncLit); lit && ours(fn.Pkg()) {
			f.opener = fn
		}
	}
}

// readFields notes the roles of functions that are put into a field of a struct of Rondo's.
func (p *program) readFields(n ast.Node) {
	field := func(t types.Type, name *ast.Ident, value ast.Expr) {
		named := namedOf(t)
		if named == nil || !ours(named.Obj().Pkg()) {
			return
		}
		if f := p.functionOf(value); f != nil {
			p.give(f, nil, roleOfField(named.Obj().Pkg(), p.info.TypeOf(value)))
			f.handler = f.handler || name.Name == "Handler" && named.Obj().Pkg().Name() == "socket"
		}
		if named.Obj().Pkg().Name() == "httptask" {
			p.readHandlers(value)
		}
	}
	switch n := n.(type) {
	case *ast.CompositeLit:
		for _, e := range n.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				if key, ok := kv.Key.(*ast.Ident); ok {
					field(p.info.TypeOf(n), key, kv.Value)
				}
			}
		}
	case *ast.AssignStmt:
		for i, lhs := range n.Lhs {
			if sel, ok := ast.Unparen(lhs).(*ast.SelectorExpr); ok && len(n.Lhs) == len(n.Rhs) {
				field(p.info.TypeOf(sel.X), sel.Sel, n.Rhs[i])
			}
		}
	}
}

// readHandlers finds the handlers of net/http that package httptask gets in n, and makes
// them tasks: functions, and what is registered at a *http.ServeMux that is a variable.
func (p *program) readHandlers(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		if call, ok := e.(*ast.CallExpr); ok && p.moves(call) {
			return false
		}
		if f := p.handlerOf(e); f != nil {
			f.roles[task], f.handler = true, true
		}
		id, ok := e.(*ast.Ident)
		if !ok || p.info.TypeOf(id) == nil || !isNamed(p.info.TypeOf(id), "net/http", "ServeMux") {
			return true
		}
		for _, user := range p.funcs {
			for _, call := range user.calls {
				sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
				if !ok || len(call.Args) != 2 {
					continue
				}
				if mux, ok := ast.Unparen(sel.X).(*ast.Ident); ok && p.objectOf(mux) == p.objectOf(id) {
					if f := p.handlerOf(call.Args[1]); f != nil {
						f.roles[task] = true
					}
				}
			}
		}
		return true
	})
}

// handlerOf returns the function of this package that an expression is or has as a handler of
// net/http: a function, or the ServeHTTP of its type; or nil.
func (p *program) handlerOf(e ast.Expr) *function {
	t := p.info.TypeOf(e)
	if t == nil {
		return nil
	}
	if isHandler(t) {
		return p.functionOf(e)
	}
	method, _, _ := types.LookupFieldOrMethod(t, true, nil, "ServeHTTP")
	if fn, ok := method.(*types.Func); ok {
		return p.byObject[fn.Origin()]
	}
	return nil
}

// isHandler reports whether t is a handler function of net/http.
func isHandler(t types.Type) bool {
	if t == nil {
		return false
	}
	s, ok := t.Underlying().(*types.Signature)
	return ok && s.Params().Len() == 2 && isNamed(s.Params().At(0).Type(), "net/http", "ResponseWriter")
}

// param returns the object of the first parameter of a function, or nil if it has no name.
func (p *program) param(f *function) types.Object {
	if len(f.typ.Params.List) == 0 || len(f.typ.Params.List[0].Names) == 0 {
		return nil
	}
	return p.info.Defs[f.typ.Params.List[0].Names[0]]
}

// hasCtx reports whether the first parameter of a function is a ctx.
func (p *program) hasCtx(f *function) bool {
	return len(f.typ.Params.List) > 0 && isCtx(p.info.TypeOf(f.typ.Params.List[0].Type))
}

// moves reports whether a call is of httptask.Blocking, whose handler runs on a goroutine.
func (p *program) moves(call *ast.CallExpr) bool {
	fn := calleeOf(p.info, call)
	return fn != nil && idOf(fn) == root+"/httptask.Blocking"
}
