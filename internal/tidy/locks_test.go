package tidy

import "strings"

var locksRule = rule{
	name: "locks",
	law: "A loop runs on one goroutine at a time, so its code has no locks and no atomics: only the files that other " +
		"goroutines come through import sync or sync/atomic.",
	check: func(t *tree) (found []breach) {
		for _, s := range t.source {
			if s.test || s.dir != "." {
				continue
			}
			for _, i := range s.ast.Imports {
				if p := strings.Trim(i.Path.Value, "`\""); p == "sync" || p == "sync/atomic" {
					found = append(found, breach{file: s.path, line: t.line(i.Pos()), what: "import of " + p,
						hint: "come in by Post"})
				}
			}
		}
		return found
	},
	bad: []sample{
		{files{"loop.go": "package rondo\nimport \"sync\"\n"}, "import of sync"},
		{files{"queue.go": "package rondo\nimport a \"sync/atomic\"\n"}, "import of sync/atomic"},
	},
	good: files{
		"loop_test.go": "package rondo\nimport \"sync\"\n",
		"coro/a.go":    "package coro\nimport \"sync\"\n",
	},
}
