package tidy

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
)

var worldsRule = rule{
	name: "worlds",
	law: "The heart of the root package and schedule.go do not ask in which world the loop runs: they call functions of " +
		"simulated.go, and neither their code nor their comments speak of simulation.",
	check: func(t *tree) (found []breach) {
		for _, s := range t.source {
			if s.test || s.dir != "." || !slices.Contains(worldless(), strings.TrimSuffix(s.name, ".go")) {
				continue
			}
			s.functions(func(in string, d ast.Decl) {
				ast.Inspect(d, func(n ast.Node) bool {
					if x, ok := n.(*ast.SelectorExpr); ok && x.Sel.Name == "sim" {
						found = append(found, breach{file: s.path, line: t.line(x.Pos()), in: in, what: "use of sim",
							hint: "write a function in simulated.go and call it"})
					}
					return true
				})
			})
			for _, c := range comments(s.ast) {
				if word := worldWord.FindString(c.Text); word != "" {
					found = append(found, breach{file: s.path, line: t.line(c.Pos()), what: "comment with " + word,
						hint: "say it in simulated.go"})
				}
			}
		}
		return found
	},
	bad: []sample{
		{files{"park.go": "package rondo\nfunc f(l *Loop) bool { return l.sim != nil }\n"}, "use of sim in f"},
		{files{"schedule.go": "package rondo\n// In a simulation f does more.\nfunc f() {}\n"}, "comment with simulation"},
		{files{"task.go": "package rondo\nfunc f() {} // Virtual time\n"}, "comment with Virtual"},
	},
	good: files{
		"loop.go":      "package rondo\ntype Loop struct { sim *simulation }\nfunc f(l *Loop) { l.hurry() }\n",
		"simulated.go": "package rondo\n// A simulation.\nfunc (l *Loop) hurry() { _ = l.sim }\n",
		"loop_test.go": "package rondo\nvar x = l.sim // a simulation\n",
	},
}

// worldless are the files that are the same in every world.
func worldless() []string {
	for _, l := range rootLayers {
		if l.name == "heart" {
			return append(strings.Fields(l.files), "schedule")
		}
	}
	return nil
}

var worldWord = regexp.MustCompile(`(?i)\bsimulat\w*|\bvirtual\w*`)
