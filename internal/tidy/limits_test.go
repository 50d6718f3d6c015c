package tidy

import (
	"fmt"
	"go/ast"
	"path"
	"strings"
)

// limits bound the root as a whole, so that it gets smaller and not larger. They
// are what it has today: lower them when it has less.
type limits struct {
	lines   int // of all files of the root package without tests
	fields  int // of Loop
	entries int // files and folders in the root folder
}

var rootLimits = limits{lines: 7400, fields: 15, entries: 74}

var limitsRule = rule{
	name: "limits",
	law: fmt.Sprintf("The root package without its tests has at most %d lines, Loop at most %d fields, the root folder at most %d entries.",
		rootLimits.lines, rootLimits.fields, rootLimits.entries),
	check:    func(t *tree) []breach { return t.checkLimits(rootLimits) },
	onSample: func(t *tree) []breach { return t.checkLimits(limits{lines: 10, fields: 3, entries: 2}) },
	bad: []sample{
		{files{"loop.go": "package rondo\n" + strings.Repeat("\n", 10)}, "11 lines"},
		{files{"loop.go": "package rondo\n" + strings.Repeat("\n", 5), "run.go": "package rondo\n" + strings.Repeat("\n", 5)}, "12 lines"},
		{files{"loop.go": "package rondo\ntype Loop struct {\n\ta, b int\n\tclock\n\tc int\n}\n"}, "4 fields"},
		{files{"a.md": "", "b.md": "", "c/d.md": ""}, "3 entries"},
	},
	good: files{
		"loop.go":      "package rondo\ntype Loop struct {\n\ta, b int\n\tclock\n}\ntype Task struct { a, b, c, d int }\n",
		"loop_test.go": "package rondo\n" + strings.Repeat("\n", 10),
		".gitignore":   "loop*\n",
		"sim/run.go":   "package sim\ntype Loop struct { a, b, c, d int }\n" + strings.Repeat("\n", 10),
	},
}

func (t *tree) checkLimits(most limits) (found []breach) {
	over := func(file, what, unit string, n, limit int) {
		if n > limit {
			found = append(found, breach{file: file, what: what, hint: fmt.Sprintf("%d %s, at most %d", n, unit, limit)})
		}
	}
	lines := 0
	for _, s := range t.source {
		if s.dir != "." || s.test {
			continue
		}
		lines += s.lines
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if d, ok := n.(*ast.TypeSpec); ok && d.Name.Name == "Loop" {
				if structure, ok := d.Type.(*ast.StructType); ok {
					over(s.path, "too large a Loop", "fields", structure.Fields.NumFields(), most.fields)
				}
			}
			return true
		})
	}
	over(".", "too long a root package", "lines", lines, most.lines)
	entries := 0
	for p := range t.exists {
		if path.Dir(p) == "." && p != "." && !t.ignored(p) {
			entries++
		}
	}
	over(".", "too full a root folder", "entries", entries, most.entries)
	return found
}

// ignored reports whether .gitignore names an entry of the root folder.
func (t *tree) ignored(entry string) bool {
	for pattern := range strings.Lines(t.text[".gitignore"]) {
		if ok, err := path.Match(strings.TrimPrefix(strings.TrimSpace(pattern), "/"), entry); ok && err == nil {
			return true
		}
	}
	return false
}
