package tidy

import (
	"fmt"
	"go/ast"
	"strings"
)

const functionMax = 70

var sizesRule = rule{
	name: "sizes",
	law:  fmt.Sprintf("A function has at most %d lines. Tests have no limit.", functionMax),
	check: func(t *tree) (found []breach) {
		for _, s := range t.source {
			if s.test {
				continue
			}
			s.functions(func(name string, d ast.Decl) {
				if lines := t.line(d.End()) - t.line(d.Pos()) + 1; name != "" && lines > functionMax {
					found = append(found, breach{file: s.path, line: t.line(d.Pos()), in: name, what: "too long a function",
						hint: fmt.Sprintf("%d lines, at most %d", lines, functionMax)})
				}
			})
		}
		return found
	},
	bad: []sample{
		{files{"sim/clock.go": "package sim\nfunc f() {" + strings.Repeat("\n", functionMax) + "}\n"}, "71 lines"},
		{files{"cmd/rondo/main.go": "package main\n\nfunc (t *T) f() {" + strings.Repeat("\n", functionMax) + "}\n"}, "main.go:3: too long a function in f"},
	},
	good: files{
		"gather.go":    "package rondo\nfunc f() {" + strings.Repeat("\n", functionMax-1) + "}\nvar x = []int{" + strings.Repeat("\n", functionMax) + "}\n",
		"loop_test.go": "package rondo\nfunc f() {" + strings.Repeat("\n", functionMax) + "}\n",
	},
}
