package tidy

import (
	"bytes"
	"go/ast"
	"go/printer"
	"strings"
)

var swapsRule = rule{
	name: "swaps",
	law: "The swap of two goroutines is written out by hand where tasks suspend, because each function that is left after a " +
		"switch costs 8 ns. It has the same words everywhere, and nothing else in the root calls the next or the yield of a slot " +
		"but slot.swap.",
	check: func(t *tree) (found []breach) {
		for _, s := range t.source {
			if s.test || s.dir != "." {
				continue
			}
			s.functions(func(in string, d ast.Decl) {
				if in == "slot.swap" || in == "swap" || in == "newWorker" || in == "Loop.newWorker" {
					return
				}
				ast.Inspect(d, func(n ast.Node) bool {
					if i, ok := n.(*ast.IfStmt); ok && i.Init != nil && strings.ReplaceAll(t.printed(i), "at.", "s.") == swapText {
						return false
					}
					if c, ok := n.(*ast.CallExpr); ok && len(c.Args) <= 1 {
						if f, ok := c.Fun.(*ast.SelectorExpr); ok && (f.Sel.Name == "next" && len(c.Args) == 0 || f.Sel.Name == "yield" && len(c.Args) == 1) {
							if x, ok := f.X.(*ast.Ident); ok && (x.Name == "s" || x.Name == "at") {
								found = append(found, breach{file: s.path, line: t.line(c.Pos()), in: in, what: "call of " + x.Name + "." + f.Sel.Name,
									hint: "write the swap as everywhere: " + swapText})
							}
						}
					}
					return true
				})
			})
		}
		return found
	},
	bad: []sample{
		{files{"park.go": "package rondo\nfunc f(s *slot) { if s.inner = !s.inner; s.inner { s.yield(unit{}) } else { g() } }\n"}, "call of s.yield"},
		{files{"park.go": "package rondo\nfunc f(at *slot) { at.inner = true; at.next() }\n"}, "call of at.next"},
	},
	good: files{
		"park.go":  "package rondo\nfunc f(s *slot) {\n\tif s.inner = !s.inner; s.inner { // swap\n\t\ts.next()\n\t} else {\n\t\ts.yield(unit{})\n\t}\n}\n",
		"baton.go": "package rondo\nfunc (s *slot) swap() { s.next() }\n",
		"pull.go":  "package rondo\nfunc f(p *puller) { p.next(); yield(1) }\n",
	},
}

// swapText is the swap, written out.
const swapText = "if s.inner = !s.inner; s.inner {\n\ts.next()\n} else {\n\ts.yield(unit{})\n}"

// printed returns the text of a node without its comments.
func (t *tree) printed(n ast.Node) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, t.fset, n); err != nil {
		return ""
	}
	return b.String()
}
