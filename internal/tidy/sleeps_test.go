package tidy

import (
	"go/ast"
	"slices"
)

var sleepsRule = rule{
	name: "sleeps",
	law:  "No test needs a sleep to pass: it waits for an event, or runs under sim.",
	check: func(t *tree) (found []breach) {
		for _, s := range t.source {
			if !s.test {
				continue
			}
			imports := s.imports()
			s.functions(func(in string, d ast.Decl) {
				ast.Inspect(d, func(n ast.Node) bool {
					if e, ok := n.(*ast.SelectorExpr); ok && qualified(e, imports) == "time.Sleep" {
						found = append(found, breach{file: s.path, line: t.line(n.Pos()), in: in, what: "time.Sleep"})
					}
					return true
				})
			})
		}
		return found
	},
	bad: []sample{
		{files{"a_test.go": "package a\nimport \"time\"\nfunc TestA() { go func() { time.Sleep(1) }() }\n"}, "time.Sleep in TestA"},
		{files{"cmd/a_test.go": "package a\nimport clock \"time\"\nvar sleep = clock.Sleep\n"}, "time.Sleep"},
	},
	good: files{
		"a.go":      "package a\nimport \"time\"\nvar sleep = time.Sleep\n",
		"a_test.go": "package a\nimport \"example.com/time\"\nvar sleep = time.Sleep\nvar said = \"time.Sleep\"\n",
	},
}

var skipsRule = rule{
	name: "skips",
	law:  "No test skips itself, unless -short is set: a test that does not run shows nothing.",
	check: func(t *tree) (found []breach) {
		for _, s := range t.source {
			if !s.test {
				continue
			}
			imports := s.imports()
			s.functions(func(in string, d ast.Decl) {
				for _, n := range skips(d, imports, nil) {
					found = append(found, breach{file: s.path, line: t.line(n.Pos()), in: in, what: "t.Skip"})
				}
			})
		}
		return found
	},
	bad: []sample{
		{files{"a_test.go": "package a\nimport \"testing\"\nfunc TestA(t *testing.T) { t.Skip() }\n"}, "t.Skip in TestA"},
		{files{"a_test.go": "package a\nimport \"testing\"\nfunc need(tb testing.TB) { func() { tb.Skipf(\"\") }() }\n"}, "t.Skip in need"},
		{files{"a_test.go": "package a\nimport \"testing\"\nfunc FuzzA(f *testing.F) { f.Fuzz(func(q *testing.T) { q.SkipNow() }) }\n"}, "t.Skip in FuzzA"},
		{files{"a_test.go": "package a\nimport \"testing\"\nfunc TestA(t *testing.T) {\nif testing.Short() {} else { t.Skip() } }\n"}, "t.Skip in TestA"},
	},
	good: files{
		"a_test.go": "package a\nimport \"testing\"\nfunc TestA(t *testing.T, r reader) { r.Skip(1)\nif testing.Short() { t.Skip() }\n" +
			"func(t *double) { t.Skip() }(nil) }\n",
	},
}

// skips finds the calls in n that skip a test. running has the names of the
// variables that are a testing.T or the like there.
func skips(n ast.Node, imports map[string]string, running []string) (found []ast.Node) {
	ast.Inspect(n, func(inner ast.Node) bool {
		switch inner := inner.(type) {
		case *ast.FuncDecl:
			running = runners(inner.Type, imports, running)
		case *ast.FuncLit:
			found = append(found, skips(inner.Body, imports, runners(inner.Type, imports, running))...)
			return false
		case *ast.IfStmt:
			if call, ok := inner.Cond.(*ast.CallExpr); ok && qualified(call.Fun, imports) == "testing.Short" {
				if inner.Else != nil {
					found = append(found, skips(inner.Else, imports, running)...)
				}
				return false
			}
		case *ast.SelectorExpr:
			x, ok := inner.X.(*ast.Ident)
			if ok && slices.Contains(running, x.Name) && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, inner.Sel.Name) {
				found = append(found, inner)
			}
		}
		return true
	})
	return found
}

// runners returns the names of what runs tests within a function, if around it
// they are those given.
func runners(f *ast.FuncType, imports map[string]string, around []string) (names []string) {
	names = slices.Clone(around)
	for _, field := range f.Params.List {
		kind := field.Type
		if p, ok := kind.(*ast.StarExpr); ok {
			kind = p.X
		}
		runs := slices.Contains([]string{"testing.T", "testing.B", "testing.F", "testing.TB"}, qualified(kind, imports))
		for _, name := range field.Names {
			names = slices.DeleteFunc(names, func(n string) bool { return n == name.Name })
			if runs {
				names = append(names, name.Name)
			}
		}
	}
	return names
}
